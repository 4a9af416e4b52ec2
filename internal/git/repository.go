package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrNone means that a folder is in no git repository.
var ErrNone = errors.New("not in a git repository")

// RefusedError is something about a repository that ralph does not work with.
type RefusedError struct {
	What, Why, Fix string
}

func (e *RefusedError) Error() string {
	if e.What == "" {
		return e.Why
	}
	return e.What + " cannot be used: " + e.Why
}

// Hint is what to do next.
func (e *RefusedError) Hint() string { return e.Fix }

// Repository is the user's, as far as it was checked. Nothing of its configuration
// is obeyed but what says how its files are to be read.
type Repository struct {
	Top    string // the top folder of its work tree
	Prefix string // the project below it, with slashes; empty: it is the top
	Dir    string // the git directory of this work tree
	Common string // the one with objects and refs; the same, but for linked work trees
	Format string // of object names: sha1 or sha256

	git     *Git
	linked  bool // .git is a file
	shallow bool
	refs    string // how refs are stored; empty: as files
}

// Open finds the repository that a project's folder lies in. Everything in it may
// have come with a download, so nothing is taken that leads out of it unless the
// other end agrees.
func Open(ctx context.Context, g *Git, project string) (*Repository, error) {
	top, info, err := find(project)
	if err != nil {
		return nil, err
	}
	return open(ctx, g, project, top, info)
}

// Within tells whether a folder lies in a repository, without a git.
func Within(project string) bool {
	_, _, err := find(project)
	return err == nil
}

// find looks for a .git in a folder and above. As for git itself, one without a HEAD
// is none.
func find(project string) (top string, dotGit fs.FileInfo, err error) {
	for dir := project; ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(filepath.Join(dir, ".git"))
		switch {
		case err == nil && info.IsDir() && !exists(filepath.Join(dir, ".git", "HEAD")): // an empty one
		case err == nil && !isOurs(info) && dir != project:
			return "", nil, ErrNone // somebody else's, perhaps put there for us
		case err == nil:
			return dir, info, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", nil, fmt.Errorf("looking for a git repository: %w", err)
		}
		if dir == filepath.Dir(dir) {
			return "", nil, ErrNone
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func open(ctx context.Context, g *Git, project, top string, dotGit fs.FileInfo) (*Repository, error) {
	prefix, err := filepath.Rel(top, project)
	if err != nil {
		return nil, err
	}
	r := &Repository{Top: top, Prefix: filepath.ToSlash(prefix), Dir: filepath.Join(top, ".git"), git: g, linked: !dotGit.IsDir()}
	if r.Prefix == "." {
		r.Prefix = ""
	}
	switch {
	case !isOurs(dotGit):
		err = refuse(r.Dir, "it belongs to another user", "run ralph as that user, or clone the repository")
	case dotGit.IsDir():
		r.Common = r.Dir
	case dotGit.Mode().IsRegular():
		err = r.follow(ctx)
	default:
		err = refuse(r.Dir, "it is neither a folder nor a plain file", "replace the link with what it leads to")
	}
	if err == nil {
		err = r.check(ctx)
	}
	return r, err
}

func refuse(what, why, fix string) error { return &RefusedError{what, why, fix} }

// follow takes a .git file: that of a linked work tree or of a submodule. The git
// directory it names must name this work tree in turn, or a download could point at
// any repository of the user's.
func (r *Repository) follow(ctx context.Context) error {
	file := r.Dir
	to, ok := strings.CutPrefix(readSmall(file), "gitdir:")
	if !ok {
		return refuse(file, "it does not say where the git directory is", "look at it")
	}
	r.Dir = absolute(r.Top, strings.TrimSpace(to))
	if back := strings.TrimSpace(readSmall(filepath.Join(r.Dir, "gitdir"))); back != "" && samePath(absolute(r.Dir, back), file) {
		common := strings.TrimSpace(readSmall(filepath.Join(r.Dir, "commondir")))
		if common == "" {
			return refuse(r.Dir, "it does not say which repository it belongs to", "git worktree repair")
		}
		r.Common = absolute(r.Dir, common)
		all := filepath.Join(r.Common, "worktrees")
		if !isRealFolder(all) || !isRealFolder(r.Dir) || !samePath(filepath.Dir(r.Dir), all) {
			return refuse(file, "the repository that it leads to, "+r.Common+", does not know of it", "git worktree repair, or clone the repository again")
		}
		return nil
	}
	r.Common = r.Dir
	tree, _ := r.setting(ctx, "core.worktree")
	if tree == "" || !samePath(absolute(r.Dir, tree), r.Top) {
		return refuse(file, "the git directory that it names, "+r.Dir+", does not know this folder", "git worktree repair, or clone the repository again")
	}
	return nil
}

// check refuses what would lead elsewhere, and what cannot be read as it is.
func (r *Repository) check(ctx context.Context) error {
	for _, name := range []string{"objects", "refs", "objects/pack", "objects/info"} {
		info, err := os.Lstat(filepath.Join(r.Common, name))
		if errors.Is(err, fs.ErrNotExist) && name != "objects" {
			continue
		}
		if err != nil {
			return refuse(r.Common, err.Error(), "git fsck")
		}
		if !info.IsDir() {
			return refuse(r.Common, name+" in it is a link or no folder", "replace it with what it leads to")
		}
	}
	if exists(filepath.Join(r.Common, "objects/info/alternates")) {
		return refuse(r.Common, "it borrows objects from another repository", "git repack -a -d, then remove .git/objects/info/alternates")
	}
	if err := r.checkPlain(); err != nil {
		return err
	}
	r.shallow = exists(filepath.Join(r.Common, "shallow"))
	return r.checkFormat(ctx)
}

// checkFormat reads the few settings without which a repository cannot be read.
func (r *Repository) checkFormat(ctx context.Context) error {
	r.Format = "sha1"
	out, err := r.config(ctx, "--get-regexp", `^(extensions\.|core\.repositoryformatversion)`)
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch strings.ToLower(key) {
		case "core.repositoryformatversion", "extensions.noop", "extensions.worktreeconfig", "extensions.preciousobjects", "extensions.relativeworktrees":
		case "extensions.objectformat":
			r.Format = strings.ToLower(value)
		case "extensions.refstorage":
			if r.refs = strings.ToLower(value); r.refs == "files" {
				r.refs = ""
			}
		case "extensions.partialclone":
			return refuse(r.Common, "it is a partial clone, whose missing objects only its remote has", "git fetch --refetch --no-filter, or clone it whole")
		default:
			return refuse(r.Common, "it uses "+key+", which this ralph does not know", "use --work in-place")
		}
	}
	if r.refs != "" {
		return refuse(r.Common, "its refs are stored as "+r.refs+", which this ralph cannot write yet", "git refs migrate --ref-format=files")
	}
	if r.Format != "sha1" && r.Format != "sha256" {
		return refuse(r.Common, "its object format is "+r.Format, "use --work in-place")
	}
	return nil
}

// setting reads one value of the user's configuration file.
func (r *Repository) setting(ctx context.Context, key string) (string, error) {
	return r.config(ctx, "--get", key)
}

// config asks the repository's configuration file, as data: it is not the one that
// holds for the git that reads it, and what it includes is not followed.
func (r *Repository) config(ctx context.Context, query ...string) (string, error) {
	return r.git.configFile(ctx, filepath.Join(r.commonOrDir(), "config"), query...)
}

// configFile asks a configuration file; the answer is empty where it has none.
func (g *Git) configFile(ctx context.Context, file string, query ...string) (string, error) {
	out, err := g.line(ctx, call{
		dir: os.TempDir(), env: []string{"GIT_DIR=" + os.DevNull},
		args: append([]string{"config", "--file", file, "--no-includes"}, query...),
	})
	if saidNo(err) {
		return "", nil // no such key
	}
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", file, err)
	}
	return out, nil
}

func (r *Repository) commonOrDir() string {
	if r.Common != "" {
		return r.Common
	}
	return r.Dir
}

// maxSmall is more than any of the one-line files of a git directory holds.
const maxSmall = 16 << 10

// readSmall returns a small plain file, or nothing.
func readSmall(path string) string {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSmall {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// samePath tells whether two paths lead to the same file.
func samePath(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}
