package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/git"
	"github.com/agent-loop/ralph/internal/loop"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// collectTimeout bounds what git does inside to bring the work of an iteration out.
const collectTimeout = 5 * time.Minute

// runGit brings the commits of a run home.
type runGit struct {
	plan  *plan
	run   *rundir.Run
	store *git.Store
	box   *box
	gates *runGates

	inside *inside // nil: the agent's files are in a folder
	broken bool    // the agent's git directory, which no sandbox uses now
}

// openGit opens the store of a run and lays out what the agent works on, where that
// is not there yet.
func (p *plan) openGit(ctx context.Context, run *rundir.Run) (*runGit, error) {
	if p.spec.Git == nil {
		return nil, nil
	}
	g := &runGit{plan: p, run: run}
	o := storeOptions(run.Path(), run.ID(), p.repo, *p.spec.Git, p.config)
	var err error
	if p.config.Git.Sign {
		if o.Sign, err = p.repo.UserSigner(ctx, p.world.Getenv); err != nil {
			return nil, err
		}
	}
	if p.fresh {
		g.store, err = git.CreateStore(ctx, o, p.config.Git.Objects == config.ObjectsShare)
	} else {
		g.store, err = git.OpenStore(ctx, o)
		removeIncoming(o.Dir)
	}
	if err != nil {
		return nil, err
	}
	return g, g.layOut(ctx)
}

// removeIncoming removes what was coming in when ralph was killed.
func removeIncoming(store string) {
	left, _ := filepath.Glob(filepath.Join(store, "incoming-*"))
	for _, path := range left {
		_ = os.RemoveAll(path)
	}
}

// clone is what the agent works on.
func (g *runGit) clone() git.Clone {
	c := git.Clone{GitDir: filepath.Join(g.run.Path(), privateFolder), Tree: filepath.Join(g.run.Path(), workFolder)}
	if g.plan.inPlace() || g.plan.inside() {
		c.Tree = ""
	}
	return c
}

// layOut makes the clone, once: what the agent left in it is there when the run goes
// on. The git directory comes last; without one there is no clone.
func (g *runGit) layOut(ctx context.Context) error {
	c := g.clone()
	if _, err := os.Lstat(c.GitDir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if c.Tree != "" {
		if err := removeTree(c.Tree); err != nil { // half of one
			return err
		}
	}
	return g.layOutGitDir(ctx, c, c.Tree)
}

// layOutGitDir makes the agent's git directory, under another name first, so that
// half of one is never taken for it, and its files where tree is not empty.
func (g *runGit) layOutGitDir(ctx context.Context, c git.Clone, tree string) error {
	tip, err := g.store.Tip(ctx)
	if err != nil {
		return err
	}
	draft := git.Clone{GitDir: c.GitDir + ".new", Tree: tree}
	if draft.Exclude, err = g.excluded(ctx, tip); err != nil {
		return err
	}
	if err := removeTree(draft.GitDir); err != nil {
		return err
	}
	if err := g.store.Clone(ctx, draft, tip, ""); err != nil {
		return err
	}
	return os.Rename(draft.GitDir, c.GitDir)
}

// mend makes the agent's git directory anew, if it is broken. The files stay as they
// are, and are committed with what comes next.
func (g *runGit) mend(ctx context.Context) error {
	if !g.broken {
		return nil
	}
	if err := removeTree(g.clone().GitDir); err != nil {
		return err
	}
	g.broken = false
	return g.layOutGitDir(ctx, g.clone(), "")
}

// excluded are files that are no part of the work: in the project's own folder those
// that stand in for what is protected and those that the user has not committed yet,
// and a task file that the project does not have in git.
// They are those of the run's beginning: what is untracked later may be the agent's.
func (g *runGit) excluded(ctx context.Context, tip string) ([]string, error) {
	file := filepath.Join(g.store.Dir, "excluded")
	text, err := os.ReadFile(file)
	if err == nil {
		return strings.Split(string(text), "\x00"), nil
	}
	paths, err := g.findExcluded(ctx, tip)
	if err != nil {
		return nil, err
	}
	return paths, os.WriteFile(file, []byte(strings.Join(paths, "\x00")), 0o600)
}

func (g *runGit) findExcluded(ctx context.Context, tip string) ([]string, error) {
	var paths []string
	if g.plan.inPlace() {
		untracked, err := g.plan.repo.Untracked(ctx)
		if err != nil {
			return nil, err
		}
		paths = slices.Concat(standInNames(), g.plan.config.Sandbox.Protect, untracked)
	}
	tracked, err := g.tracksTasks(ctx, tip)
	if err == nil && !tracked {
		paths = append(paths, g.inRepository(g.plan.config.Loop.Tasks))
	}
	return paths, err
}

// tracksTasks tells whether the task file is part of a commit, or there is none.
func (g *runGit) tracksTasks(ctx context.Context, commit string) (bool, error) {
	name := g.plan.config.Loop.Tasks
	if name == "" {
		return true, nil
	}
	return g.store.Has(ctx, commit, g.inRepository(name))
}

// inRepository is a path of the project, from the top of the repository.
func (g *runGit) inRepository(name string) string {
	return path.Join(g.plan.repo.Prefix, filepath.ToSlash(name))
}

// mounts are what a sandbox gets to see of a clone, at the place of the repository.
// Files that are inside are not mounted.
func (g *runGit) mounts(c git.Clone) []sandbox.Mount {
	top := g.plan.repo.Top
	objects := sandbox.Mount{Source: g.store.Objects(), Target: git.InsideObjects, ReadOnly: true}
	private := sandbox.Mount{Source: c.GitDir, Target: git.InsideGitDir}
	if c.Tree == "" {
		return []sandbox.Mount{private, objects}
	}
	return []sandbox.Mount{{Source: c.Tree, Target: top, Protect: []string{".git"}}, private, objects}
}

// Collect is part of loop.Git.
func (g *runGit) Collect(ctx context.Context, box sandbox.Sandbox, work loop.Work) (rundir.Import, error) {
	told := rundir.Import{Branch: g.store.Branch}
	file, err := os.CreateTemp(g.store.Dir, "incoming-*.bundle")
	if err != nil {
		return told, fmt.Errorf("making room for the commits: %w", err)
	}
	defer func() {
		file.Close()
		_ = os.Remove(file.Name())
	}()
	left, err := g.room()
	if err != nil {
		return told, err
	}
	sent := &capped{to: file, left: left}
	told.Refused, err = g.bringOut(ctx, box, work, sent)
	told.Bytes = sent.written
	if late := g.receive(sent.written); late != nil {
		return told, errors.Join(err, late)
	}
	if told.Refused != "" || err != nil {
		return told, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return told, err
	}
	obeys, err := g.plan.world.hostObeys(ctx, g.plan.config, g.plan.repo)
	if err != nil {
		return told, err
	}
	found, err := g.store.Import(ctx, file, work.Iteration, obeys)
	var bad *git.BadImportError
	if errors.As(err, &bad) {
		told.Refused = bad.Error()
		return told, nil
	}
	if err != nil {
		return told, err
	}
	told.From, told.To, told.Commits, told.Files = found.From, found.To, found.Commits, found.Files
	told.Rewritten, told.Protected, told.Links, told.Held = found.Rewritten, found.Protected, found.Links, found.Held
	return told, g.showWorktree(ctx, found)
}

// bringOut has git inside write what is new.
func (g *runGit) bringOut(ctx context.Context, box sandbox.Sandbox, work loop.Work, to *capped) (refused string, err error) {
	since, err := g.store.SandboxTip(ctx)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, collectTimeout)
	defer cancel()
	said, mask := &tail{}, g.plan.masker.MaskString
	code, err := box.Exec(ctx, sandbox.Command{
		Args: g.store.Collect(since, g.plan.config.Git.Commit == config.CommitAuto), Env: g.collectEnv(), Dir: g.plan.repo.Top,
		Stdin: strings.NewReader(g.store.Message(work.Iteration, mask(work.Subject), mask(work.Body))), Stdout: to, Stderr: said,
	})
	switch {
	case to.over:
		return fmt.Sprintf("the commits cannot be taken: they have more than %s, or all of the run more than %d times as much; git.max_import says how much there may be", config.FormatSize(g.plan.config.Git.MaxImport), maxImports), nil
	case err != nil:
		return "", err
	case code == 127:
		return "", usageError{errors.New("there is no git in the sandbox"), "install it below /usr or in the root file system, or use --work in-place without a repository"}
	case code != 0:
		g.broken = true
		return "", fmt.Errorf("%w: exit code %d: %s", loop.ErrBroken, code, said.line())
	}
	return "", nil
}

func (g *runGit) collectEnv() []string {
	if g.plan.inside() {
		return append(g.store.CollectEnv(), insideEnv(g.plan.repo.Top)...)
	}
	return g.store.CollectEnv()
}

// maxImports is how often a run may bring as much as one import may be: what an agent
// makes and drops again stays in the repository for a while.
const maxImports = 8

// room is how many bytes may still come in.
func (g *runGit) room() (int64, error) {
	text, err := os.ReadFile(g.receivedFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	received, _ := strconv.ParseInt(string(text), 10, 64) // none yet
	most := g.plan.config.Git.MaxImport
	return max(0, min(most, maxImports*most-received)), nil
}

// receive notes how many bytes came in.
func (g *runGit) receive(bytes int64) error {
	text, _ := os.ReadFile(g.receivedFile())
	received, _ := strconv.ParseInt(string(text), 10, 64)
	return os.WriteFile(g.receivedFile(), strconv.AppendInt(nil, received+bytes, 10), 0o600)
}

func (g *runGit) receivedFile() string { return filepath.Join(g.store.Dir, "received") }

// showWorktree brings the checkout that the user opens up to date. What the user did
// there stays; the branch has the work anyway.
func (g *runGit) showWorktree(ctx context.Context, found git.Import) error {
	if g.plan.spec.Git.Workspace != config.WorkspaceWorktree {
		return nil
	}
	dir := git.WorktreePath(g.plan.repo.Top, g.store.Branch)
	if len(found.Protected) > 0 {
		return g.run.Append(rundir.EventNote, 0, rundir.Note{Text: fmt.Sprintf("%s stays as it is: the work changes files that programs of yours obey, such as %s; see ralph diff", dir, found.Protected[0])})
	}
	err := g.store.Worktree(ctx, dir, found.To)
	var refused *git.RefusedError
	if errors.As(err, &refused) {
		return g.run.Append(rundir.EventNote, 0, rundir.Note{Text: refused.Error()})
	}
	return err
}

// CheckOut is part of loop.Git.
func (g *runGit) CheckOut(ctx context.Context) (loop.Checkout, error) {
	dir := filepath.Join(g.run.Path(), verifyFolder)
	place := loop.Checkout{Close: func() error { return removeTree(dir) }}
	commit, err := g.store.Tip(ctx)
	if err != nil {
		return place, err
	}
	v := g.plan.config.Validation
	scripts := append(git.CommandFiles(v.Command), git.CommandFiles(v.Setup)...)
	tree, changed, err := g.store.TrustedTree(ctx, commit, v.Trusted, scripts)
	if err != nil {
		return place, err
	}
	if err := errors.Join(removeTree(dir), os.Mkdir(dir, 0o755)); err != nil {
		return place, fmt.Errorf("making a clean checkout: %w", err)
	}
	c := git.Clone{GitDir: filepath.Join(dir, "git"), Tree: filepath.Join(dir, "work")}
	if err := g.store.Clone(ctx, c, commit, tree); err != nil {
		return place, errors.Join(err, place.Close())
	}
	place.Commit, place.Trusted = commit, changed
	fixed, err := g.fixed(ctx, scripts)
	if err == nil {
		place.Launcher, err = g.validator(c, fixed)
	}
	if err != nil {
		err = errors.Join(err, place.Close())
	}
	return place, err
}

// maxFixed is how many files are made read-only one by one.
const maxFixed = 200

// fixed are the trusted files that are read-only while a validation runs, since what
// runs there is the agent's. Of too many only those that the command names are.
func (g *runGit) fixed(ctx context.Context, scripts []string) ([]string, error) {
	files, err := g.store.TrustedFiles(ctx, g.plan.config.Validation.Trusted, scripts)
	if err == nil && len(files) > maxFixed {
		files, err = g.store.TrustedFiles(ctx, nil, scripts)
	}
	return files[:min(len(files), maxFixed)], err
}

// validator starts the sandbox of a validation: the clean checkout in the place of
// the agent's, and the network that the configuration gives to validations.
func (g *runGit) validator(c git.Clone, fixed []string) (*launcher, error) {
	network := g.plan.config.ValidationNetwork()
	policy, err := newPolicy(network)
	if err != nil {
		return nil, err
	}
	clean := *g.box
	clean.spec.Own = nil
	clean.spec.Mounts = append(g.mounts(c), g.box.spec.Mounts[g.box.own:]...)
	clean.spec.Mounts[0].Protect = append(clean.spec.Mounts[0].Protect, fixed...)
	clean.spec.Network = networkFor(config.Config{Sandbox: config.Sandbox{Network: network}}, false)
	return &launcher{plan: g.plan, box: &clean, gates: g.gates, network: network, policy: policy}, nil
}

// deliver ends the work on a run that is done: the branch is pushed where the user
// asked for it, and what the agent worked on is removed. All of it that counts is in
// commits.
func (x *execution) deliver(ctx context.Context) error {
	if x.work == nil {
		return nil
	}
	var err error
	if x.plan.config.Git.Push {
		err = errors.Join(x.plan.world.pushRun(ctx, x.run, x.work.store, x.plan.spec, x.plan.config.Git), x.run.SaveState(x.loop.State))
	}
	return errors.Join(err, removeClone(x.run.Path()))
}

// capped passes on as much as it may.
type capped struct {
	to      io.Writer
	left    int64
	written int64
	over    bool
}

func (c *capped) Write(data []byte) (int, error) {
	if int64(len(data)) > c.left {
		c.over = true
		return 0, errors.New("too much")
	}
	n, err := c.to.Write(data)
	c.left, c.written = c.left-int64(n), c.written+int64(n)
	return n, err
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

const maxTail = 2 << 10

func (t *tail) Write(data []byte) (int, error) {
	t.text = append(t.text, data...)
	if over := len(t.text) - maxTail; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(data), nil
}

// line is the last line that says something.
func (t *tail) line() string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(t.text), "")), "\n")
	return visible(lines[len(lines)-1])
}

// openStore opens what came home of a run that has ended, or goes on.
func (w World) openStore(ctx context.Context, reader *rundir.Reader) (*git.Store, runSpec, error) {
	spec, err := readSpec(reader)
	if err != nil {
		return nil, spec, err
	}
	// Its repository is one that git obeys, and a folder that looks like a run can
	// come with a download.
	if err := checkKnown(w, reader, false); err != nil {
		return nil, spec, err
	}
	if spec.Git == nil {
		return nil, spec, usageError{fmt.Errorf("run %s has no commits of its own: its project was in no git repository", reader.ID()), "ralph show " + reader.ID()}
	}
	cfg, _, err := config.Restore(spec.Settings, w.Getenv, nil)
	if err != nil {
		return nil, spec, err
	}
	program, err := git.Find()
	if err != nil {
		return nil, spec, err
	}
	repo, err := git.Open(ctx, program, spec.Project)
	if err != nil {
		return nil, spec, fmt.Errorf("opening the repository of run %s: %w", reader.ID(), err)
	}
	store, err := git.OpenStore(ctx, storeOptions(reader.Path(), reader.ID(), repo, *spec.Git, cfg))
	return store, spec, err
}
