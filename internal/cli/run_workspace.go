package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/git"
	"github.com/agent-loop/ralph/internal/workspace"
)

// gitSpec is what the spec of a run says about git. A run without one brings no
// commits home.
type gitSpec struct {
	Workspace string `json:"workspace"`         // clone, in-place or worktree
	Branch    string `json:"branch"`            // that the commits go to
	Base      string `json:"base"`              // the commit that the run began with
	Trusted   string `json:"trusted,omitzero"`  // the commit that checks are taken from; empty: the base
	Checkout  string `json:"checkout,omitzero"` // inside; empty: a clone has its files in a folder
}

// inPlace tells whether the agent works on the project's own files.
func (p *plan) inPlace() bool {
	return p.spec.Git == nil || p.spec.Git.Workspace == config.WorkspaceInPlace
}

// chooseWorkspace decides what the agent of a new run works on: a clone where the
// project is in a git repository, unless the user says otherwise.
func (p *plan) chooseWorkspace(ctx context.Context) error {
	wanted := p.config.Git.Workspace
	if p.spec.Data != "" || p.opts.plain {
		return nil
	}
	err := p.openRepository(ctx)
	if err == nil {
		return p.chooseBranch(ctx, wanted)
	}
	var missing *git.MissingError
	var refused *git.RefusedError
	switch {
	case errors.Is(err, git.ErrNone):
		return p.withoutGit("the project is no git repository")
	case wanted == config.WorkspaceInPlace && errors.As(err, &missing):
		return p.withoutGit("git is not installed")
	case wanted == config.WorkspaceInPlace && errors.As(err, &refused):
		return p.withoutGit(refused.Error())
	}
	return err
}

// openRepository opens the repository of the project. Who has none needs no git.
func (p *plan) openRepository(ctx context.Context) error {
	if !git.Within(p.spec.Project) {
		return git.ErrNone
	}
	program, err := git.Find()
	if err != nil {
		return err
	}
	p.repo, err = git.Open(ctx, program, p.spec.Project)
	var refused *git.RefusedError
	if errors.As(err, &refused) {
		return usageError{err, "or let the agent work on the files as they are: --work in-place"}
	}
	return err
}

// chooseBranch decides where the commits go, and what they build on.
func (p *plan) chooseBranch(ctx context.Context, wanted string) error {
	if wanted == config.WorkspaceAuto {
		wanted = config.WorkspaceClone
	}
	if wanted == config.WorkspaceInPlace && p.repo.Prefix != "" {
		return p.withoutGit("the project is a part of a repository, and in place it has no git")
	}
	branch := strings.ReplaceAll(p.config.Git.Branch, "{run}", p.opts.id)
	if err := p.checkBranch(ctx, branch); err != nil {
		return err
	}
	spec := &gitSpec{Workspace: wanted, Branch: branch}
	if err := p.chooseBase(ctx, spec); err != nil {
		return err
	}
	missing, err := p.notCommitted(ctx, spec.Base)
	if err != nil {
		return err
	}
	if missing != "" {
		return p.withoutGit(missing)
	}
	p.spec.Git = spec
	return p.noteWorkspace(ctx)
}

// chooseBase decides what the work builds on: a branch that exists, or what is checked
// out. On a branch that exists an agent may have been at the checks before, so they
// are those of the commit where it left what is checked out.
func (p *plan) chooseBase(ctx context.Context, spec *gitSpec) error {
	head, err := p.repo.Resolve(ctx, "HEAD")
	if err != nil {
		return err
	}
	if spec.Base, err = p.repo.Resolve(ctx, "refs/heads/"+spec.Branch); err != nil {
		return err
	}
	if spec.Base == "" {
		spec.Base = head
		return nil
	}
	p.notes = append(p.notes, fmt.Sprintf("the branch %s exists; the run goes on with it", spec.Branch))
	if head == "" {
		return nil
	}
	if spec.Trusted, err = p.repo.Fork(ctx, head, spec.Base); err == nil && spec.Trusted != "" && len(p.config.Validation.Trusted) > 0 {
		p.notes = append(p.notes, fmt.Sprintf("checks are trusted as they are in %.12s, where %s leaves what you have checked out", spec.Trusted, spec.Branch))
	}
	return err
}

// notCommitted is why there is nothing to clone; empty: there is.
func (p *plan) notCommitted(ctx context.Context, base string) (string, error) {
	if base == "" {
		return "the repository has no commit yet", nil
	}
	if p.repo.Prefix == "" {
		return "", nil
	}
	has, err := p.repo.HasFolder(ctx, base, p.repo.Prefix)
	if err == nil && !has {
		return "the project's folder is not part of the repository's last commit", nil
	}
	return "", err
}

// withoutGit lets the agent work on the files as they are, unless the user wants a
// clone.
func (p *plan) withoutGit(why string) error {
	p.repo = nil
	if p.config.Git.Workspace == config.WorkspaceClone || p.config.Git.Workspace == config.WorkspaceWorktree {
		return usageError{errors.New("there is nothing to clone: " + why), "git add -A && git commit"}
	}
	if len(p.config.Validation.Trusted) > 0 {
		return usageError{errors.New("validation.trusted takes files from a commit, and " + why), "git add -A && git commit"}
	}
	p.notes = append(p.notes, why+": the agent works on your files, and what it changes cannot be taken back")
	return nil
}

// checkBranch refuses a branch that the run must not move.
func (p *plan) checkBranch(ctx context.Context, branch string) error {
	if err := git.CheckBranch(branch); err != nil {
		return usageError{err, "--branch takes a name such as ralph/cleanup"}
	}
	if git.MatchBranch(p.config.Git.Protected, branch) {
		return usageError{fmt.Errorf("the branch %s is protected", branch), "choose another one with --branch; git.protected_branches lists those that no run may move"}
	}
	dir, err := p.repo.CheckedOut(branch)
	if err == nil && dir != "" {
		err = usageError{fmt.Errorf("the branch %s is checked out in %s", branch, dir), "choose another one with --branch, or check out something else there"}
	}
	if err != nil {
		return err
	}
	err = p.repo.CheckFree(ctx, branch)
	if refused := new(git.RefusedError); errors.As(err, &refused) {
		return usageError{err, ""}
	}
	return err
}

// noteWorkspace tells what a clone does not have.
func (p *plan) noteWorkspace(ctx context.Context) error {
	if p.inPlace() {
		return nil
	}
	left, err := p.repo.Uncommitted(ctx)
	if err != nil {
		return err
	}
	if n := left.Changed + left.Untracked; n > 0 {
		p.notes = append(p.notes, fmt.Sprintf("the agent begins with your last commit, in which %d %s not as you have %s: %s; commit what it needs", n, plural(n, "file is", "files are"), plural(n, "it", "them"), strings.Join(left.Some, ", ")))
	}
	submodules, lfs, err := p.repo.Peculiar(ctx, p.spec.Git.Base)
	if submodules > 0 {
		p.notes = append(p.notes, fmt.Sprintf("%d %s empty in the clone; --work in-place has them", submodules, plural(submodules, "submodule is", "submodules are")))
	}
	if lfs > 0 {
		p.notes = append(p.notes, fmt.Sprintf("%d %s kept by LFS, and the clone has their pointers only; --work in-place has them", lfs, plural(lfs, "file is", "files are")))
	}
	return err
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// resumeWorkspace opens what a run works on that exists.
func (p *plan) resumeWorkspace(ctx context.Context) error {
	if p.spec.Git == nil {
		return nil
	}
	return p.openRepository(ctx)
}

// obeyed are names beside the protected ones that something obeys once a branch is
// merged or pushed.
func obeyed() []string {
	return []string{".gitattributes", ".gitmodules", ".lfsconfig", ".github", ".gitlab-ci.yml", ".circleci"}
}

// hostObeys tells whether a program of the host's would execute or obey a path of the
// repository: by its name, which counts in every folder, since every folder can be
// opened, or because a configuration says so. Case does not count, as it does not on
// many machines.
func (w World) hostObeys(ctx context.Context, cfg config.Config, repo *git.Repository) (func(string) bool, error) {
	paths, err := repo.Obeyed(ctx, w.Getenv)
	if err != nil {
		return nil, err
	}
	for _, p := range cfg.Sandbox.Protect {
		paths = append(paths, path.Join(repo.Prefix, filepath.ToSlash(p)))
	}
	names := map[string]bool{}
	for _, name := range slices.Concat(workspace.Protected(), obeyed()) {
		names[git.Fold(name)] = true
	}
	return func(path string) bool {
		path = git.Fold(path)
		for part := range strings.SplitSeq(path, "/") {
			if names[part] {
				return true
			}
		}
		return slices.ContainsFunc(paths, func(p string) bool {
			p = git.Fold(p)
			return path == p || strings.HasPrefix(path, p+"/")
		})
	}, nil
}

// storeOptions are those of a run's store.
func storeOptions(runPath, id string, repo *git.Repository, spec gitSpec, all config.Config) git.Options {
	cfg := all.Git
	return git.Options{
		Dir: filepath.Join(runPath, storeFolder), Repo: repo, Run: id, Branch: spec.Branch, Base: spec.Base, Trusted: spec.Trusted,
		Identity: git.Identity{Name: cfg.Name, Email: cfg.Email}, MaxFile: cfg.MaxFile, MaxTree: limits(all.Sandbox.Resources).Disk,
	}
}

// Folders of a run that has a clone.
const (
	storeFolder   = "git"     // all that came home
	privateFolder = "private" // the agent's git directory
	workFolder    = "work"    // the agent's files
	verifyFolder  = "verify"  // a clean checkout, while it is validated
)

// removeClone removes what the agent worked on. What came home stays.
func removeClone(runPath string) error {
	var errs []error
	for _, name := range []string{privateFolder, workFolder, verifyFolder, keptFile, keptFile + ".new", filesFolder} { // one without the first is none
		errs = append(errs, removeTree(filepath.Join(runPath, name)))
	}
	return errors.Join(errs...)
}

// removeTree removes a folder in which an agent may have locked others out.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a folder that is about to go
		}
		return nil
	})
	return os.RemoveAll(dir)
}
