package config

import (
	"slices"
	"strings"
	"unicode"
)

// Git says where the agent's commits are made and what becomes of them.
type Git struct {
	Workspace string // one of the Workspace words
	Checkout  string // one of the Checkout words: where the files of a clone are
	Branch    string // the branch of a run's commits; {run} stands for the run's id
	Name      string // who the agent's commits are by
	Email     string
	Commit    string // one of the Commit words
	Objects   string // one of the Objects words

	// Protected are patterns, of names with * and ?, of branches that are never
	// moved nor pushed to.
	Protected []string

	Push   bool   // push the branch when the run is done
	Remote string // where to
	Sign   bool   // with the user's own key

	MaxImport int64 // bytes that one import of commits may bring
	MaxFile   int64 // bytes of the largest file among them
}

// The words of [git].
const (
	WorkspaceAuto     = "auto"
	WorkspaceClone    = "clone"
	WorkspaceInPlace  = "in-place" // the agent writes to the user's own files
	WorkspaceWorktree = "worktree"

	CheckoutAuto   = "auto"   // as the engine prefers
	CheckoutFolder = "folder" // in a folder of the run, which the sandbox mounts
	CheckoutInside = "inside" // in the sandbox's own file system

	CommitAuto  = "auto"  // what the agent leaves uncommitted is committed after an iteration
	CommitAgent = "agent" // only the agent commits

	ObjectsShare = "share" // the sandbox reads the packs of the repository
	ObjectsCopy  = "copy"  // it gets a copy of the branch's own history alone
)

// What an import may bring where the user says nothing, and the bounds of what a
// user can say. What comes back out of a sandbox is hostile, so there is always
// a limit.
const (
	DefaultMaxImport = 512 << 20
	DefaultMaxFile   = 100 << 20

	minImport = 1 << 20
	maxImport = 1 << 40
)

func defaultGit() Git {
	return Git{
		Workspace: WorkspaceAuto,
		Checkout:  CheckoutAuto,
		Branch:    "ralph/{run}",
		Name:      "Ralph Loop",
		Email:     "ralph@localhost",
		Commit:    CommitAuto,
		Objects:   ObjectsShare,
		Protected: []string{"main", "master", "trunk", "release/*"},
		Remote:    "origin",
		MaxImport: DefaultMaxImport,
		MaxFile:   DefaultMaxFile,
	}
}

// gitKeys are the keys of [git]. What reaches the user's own repository, and what
// leaves the machine in the user's name, is the user's to say.
func gitKeys() []field {
	imported := parsed(`a size such as "512m"`, parseImport, FormatSize)
	return []field{
		at("git.workspace", "where the agent works: a clone, a worktree, or your own files", oneOf(WorkspaceAuto, WorkspaceClone, WorkspaceInPlace, WorkspaceWorktree),
			func(c *Config) *string { return &c.Git.Workspace }, noWeakerWorkspace),
		at("git.checkout", "where the files of a clone are: in a folder, or in the sandbox's own file system", oneOf(CheckoutAuto, CheckoutFolder, CheckoutInside),
			func(c *Config) *string { return &c.Git.Checkout }, free),
		at("git.branch", "the branch of a run's commits; {run} is the run's id", text(aBranch),
			func(c *Config) *string { return &c.Git.Branch }, usersOnly),
		at("git.name", "who the agent's commits are by", text(anIdentity),
			func(c *Config) *string { return &c.Git.Name }, free),
		at("git.email", "the address beside that name", text(anIdentity),
			func(c *Config) *string { return &c.Git.Email }, free),
		at("git.commit", "who commits what an iteration leaves uncommitted", oneOf(CommitAuto, CommitAgent),
			func(c *Config) *string { return &c.Git.Commit }, free),
		at("git.objects", "share the repository's packs with the sandbox, or copy the branch's own history", oneOf(ObjectsShare, ObjectsCopy),
			func(c *Config) *string { return &c.Git.Objects }, notWider(ObjectsCopy, ObjectsShare)),
		at(keyBranches, "patterns of branches that are never moved nor pushed to", list(aBranchPattern),
			func(c *Config) *[]string { return &c.Git.Protected }, free), // united in Resolve
		at("git.push", "push the branch when the run is done", boolean(),
			func(c *Config) *bool { return &c.Git.Push }, usersOnly),
		at("git.remote", "where to", text(aRemote),
			func(c *Config) *string { return &c.Git.Remote }, usersOnly),
		at("git.sign", "sign the commits with your own key", boolean(),
			func(c *Config) *bool { return &c.Git.Sign }, usersOnly),
		at("git.max_import", "what the commits of an iteration may bring", imported,
			func(c *Config) *int64 { return &c.Git.MaxImport }, atMostOr[int64](DefaultMaxImport)),
		at("git.max_file", "the largest file that a commit may bring", imported,
			func(c *Config) *int64 { return &c.Git.MaxFile }, atMostOr[int64](DefaultMaxFile)),
	}
}

func parseImport(s string) (int64, error) {
	return parseSizeBetween(s, "limit", minImport, maxImport)
}

// noWeakerWorkspace keeps a project from the user's own files. "auto" is no
// promise to stay away from them, so it does not replace a place that the user
// has named.
func noWeakerWorkspace(base string, said bool, project string) string {
	named := said && base != WorkspaceInPlace
	if project == WorkspaceInPlace || (named && project == WorkspaceAuto) {
		return base
	}
	return project
}

const maxGitText = 200 // bytes

// aBranch takes what can become the name of a branch once {run} is replaced; git
// has the last word on that.
func aBranch(s string) string {
	if len(s) > maxGitText {
		return "is longer than 200 bytes"
	}
	return aName(s)
}

// aBranchPattern takes a branch's name with * and ?. What no branch is called is
// refused: it would protect nothing.
func aBranchPattern(s string) string {
	switch why := aBranch(s); {
	case why != "":
		return why
	case strings.HasPrefix(s, "refs/"):
		return "is a whole reference; name the branch alone, as in release/*"
	case strings.HasPrefix(s, "!"):
		return "begins with !, which means nothing here"
	case strings.ContainsAny(s, `[~^:\`) || strings.Contains(s, "..") || slices.Contains(strings.Split(s, "/"), ""):
		return "is no name of a branch; of patterns there are * and ?"
	}
	return ""
}

// anIdentity takes a name or an address that git writes into a commit as it is.
func anIdentity(s string) string {
	switch why := anyText(s); {
	case why != "":
		return why
	case len(s) > maxGitText:
		return "is longer than 200 bytes"
	case strings.ContainsAny(s, "<>"):
		return "holds < or >, which part name and address in a commit"
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "holds a character that cannot be printed"
	case strings.TrimSpace(s) != s:
		return "begins or ends with a space"
	case strings.Trim(s, ` .,:;"'\`) == "":
		return "has nothing but characters that git takes away"
	}
	return ""
}

// aRemote takes the name of a remote and no path or address, which git would
// take in its place.
func aRemote(s string) string {
	const may = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/"
	if why := aBranch(s); why != "" {
		return why
	}
	unnamed := func(part string) bool { return part == "" || part[0] == '.' }
	if strings.Trim(s, may) != "" || strings.Contains(s, "..") || slices.ContainsFunc(strings.Split(s, "/"), unnamed) {
		return "is not a remote's name of letters, digits, dots, dashes, underscores and slashes"
	}
	return ""
}
