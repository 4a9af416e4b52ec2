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
	Workspace string `json:"workspace"` // clone, in-place or worktree
	Branch    string `json:"branch"`    // that the commits go to
	Base      string `json:"base"`      // the commit that the run began with
	From      string `json:"from,omitzero"`
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
	if errors.Is(err, git.ErrNone) {
		return p.withoutGit("the project is no git repository")
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
	spec := &gitSpec{Workspace: wanted, Branch: branch, From: p.repo.Head()}
	var err error
	if spec.Base, err = p.repo.Resolve(ctx, "refs/heads/"+branch); err != nil {
		return err
	}
	if spec.Base != "" {
		p.notes = append(p.notes, fmt.Sprintf("the branch %s exists; the run goes on with it", branch))
		spec.From = branch
	} else if spec.Base, err = p.repo.Resolve(ctx, "HEAD"); err != nil {
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
		p.notes = append(p.notes, fmt.Sprintf("the agent begins with your last commit; %d uncommitted %s not part of it: %s", n, plural(n, "file is", "files are"), strings.Join(left.Some, ", ")))
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
// repository. A name counts in every folder, since every folder can be opened.
func hostObeys(cfg config.Config, prefix string) func(string) bool {
	names := append(workspace.Protected(), obeyed()...)
	return func(name string) bool {
		for part := range strings.SplitSeq(name, "/") {
			if slices.Contains(names, part) {
				return true
			}
		}
		return slices.ContainsFunc(cfg.Sandbox.Protect, func(p string) bool {
			protected := path.Join(prefix, filepath.ToSlash(p))
			return name == protected || strings.HasPrefix(name, protected+"/")
		})
	}
}

// storeOptions are those of a run's store.
func storeOptions(runPath, id string, repo *git.Repository, spec gitSpec, cfg config.Git) git.Options {
	return git.Options{
		Dir: filepath.Join(runPath, storeFolder), Repo: repo, Run: id, Branch: spec.Branch, Base: spec.Base,
		Identity: git.Identity{Name: cfg.Name, Email: cfg.Email}, MaxFile: cfg.MaxFile,
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
	for _, name := range []string{privateFolder, workFolder, verifyFolder} { // one without the first is none
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
