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

// view is a git directory of ours whose objects and refs are those of the user's
// repository. Neither its configuration nor its hooks are there.
type view struct {
	git  *Git
	dir  string
	repo *Repository
}

// newView makes one in a temporary folder. Close removes it.
func newView(r *Repository) (*view, error) {
	dir, err := os.MkdirTemp("", "ralph-git-")
	if err != nil {
		return nil, fmt.Errorf("making a git directory: %w", err)
	}
	v := &view{git: r.git, dir: dir, repo: r}
	if err := v.fill(); err != nil {
		return nil, errors.Join(fmt.Errorf("making a git directory: %w", err), v.close())
	}
	return v, nil
}

func (v *view) close() error { return os.RemoveAll(v.dir) }

// fill links what is shared. A linked work tree has a HEAD of its own.
func (v *view) fill() error {
	shared := []string{"objects", "refs", "logs", "packed-refs", "worktrees"}
	if v.repo.shallow {
		shared = append(shared, "shallow")
	}
	for _, name := range shared {
		if err := os.Symlink(filepath.Join(v.repo.Common, name), filepath.Join(v.dir, name)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(v.repo.Common, "logs"), 0o755); err != nil {
		return err
	}
	head := readSmall(filepath.Join(v.repo.Dir, "HEAD"))
	if head == "" {
		head = "ref: refs/heads/main\n"
	}
	return errors.Join(
		os.WriteFile(filepath.Join(v.dir, "HEAD"), []byte(head), 0o600),
		os.WriteFile(filepath.Join(v.dir, "config"), []byte(baseConfig(v.repo.Format, true)), 0o600),
	)
}

// baseConfig is what a git directory must say about itself.
func baseConfig(format string, bare bool) string {
	version, extensions := 0, ""
	if format == "sha256" {
		version, extensions = 1, "[extensions]\n\tobjectFormat = sha256\n"
	}
	return fmt.Sprintf("[core]\n\trepositoryformatversion = %d\n\tbare = %v\n\tfileMode = true\n%s", version, bare, extensions)
}

func (v *view) call(args ...string) call { return call{dir: v.dir, args: args} }

// resolve returns the commit that a name stands for; empty: there is none.
func (v *view) resolve(ctx context.Context, name string) (string, error) {
	commit, err := v.git.line(ctx, v.call("rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}"))
	if saidNo(err) {
		return "", nil
	}
	return commit, err
}

// with runs f with a view of the repository.
func (r *Repository) with(f func(*view) error) (err error) {
	v, err := newView(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	return f(v)
}

// Resolve returns the commit that a branch or HEAD stands for; empty: there is none.
func (r *Repository) Resolve(ctx context.Context, name string) (commit string, err error) {
	err = r.with(func(v *view) error {
		commit, err = v.resolve(ctx, name)
		return err
	})
	return commit, err
}

// Head is the branch that is checked out; empty: none is.
func (r *Repository) Head() string {
	branch, ok := strings.CutPrefix(strings.TrimSpace(readSmall(filepath.Join(r.Dir, "HEAD"))), "ref: refs/heads/")
	if !ok || CheckBranch(branch) != nil {
		return ""
	}
	return branch
}

// CheckedOut returns the folder in which a branch is checked out; empty: in none.
func (r *Repository) CheckedOut(branch string) (string, error) {
	ref := "ref: refs/heads/" + branch
	if strings.TrimSpace(readSmall(filepath.Join(r.Common, "HEAD"))) == ref && filepath.Base(r.Common) == ".git" {
		return filepath.Dir(r.Common), nil
	}
	entries, err := os.ReadDir(filepath.Join(r.Common, "worktrees"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("looking at work trees: %w", err)
	}
	for _, e := range entries {
		dir := filepath.Join(r.Common, "worktrees", e.Name())
		if strings.TrimSpace(readSmall(filepath.Join(dir, "HEAD"))) == ref {
			return filepath.Dir(strings.TrimSpace(readSmall(filepath.Join(dir, "gitdir")))), nil
		}
	}
	return "", nil
}

// HasFolder tells whether a commit has a folder of that name.
func (r *Repository) HasFolder(ctx context.Context, commit, folder string) (has bool, err error) {
	err = r.with(func(v *view) error {
		out, err := v.git.output(ctx, v.call("ls-tree", "-d", "--name-only", "-z", commit, "--", folder))
		has = len(out) > 0
		return err
	})
	return has, err
}

// Fork is the last commit that two have in common; empty: there is none.
func (r *Repository) Fork(ctx context.Context, a, b string) (commit string, err error) {
	err = r.with(func(v *view) error {
		commit, err = v.git.line(ctx, v.call("merge-base", a, b))
		if saidNo(err) {
			commit, err = "", nil
		}
		return err
	})
	return commit, err
}
