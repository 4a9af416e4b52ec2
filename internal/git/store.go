package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Identity is who commits are by.
type Identity struct{ Name, Email string }

// Options are what a store must know beside what it holds. They are those of the
// run, and the same each time it is opened.
type Options struct {
	Dir      string      // where it is
	Repo     *Repository // the user's
	Run      string      // the run's id
	Branch   string      // that the run's commits go to
	Base     string      // the commit that the run began with
	Trusted  string      // the commit that checks are taken from; empty: the base
	Identity Identity
	Sign     *Signer // nil: commits are not signed
	MaxFile  int64   // bytes of one file that a commit may bring
	MaxTree  int64   // bytes of all files of a commit together; 0: no limit
}

// Store is the repository of one run: the objects of the base, and all that came home
// since. It lies where no agent can write; its objects are what sandboxes see,
// read-only.
type Store struct {
	Options
	git *Git
}

// Refs of a store.
const (
	refSandbox   = "refs/ralph/sandbox"   // the last tip that came, as it is in the sandbox
	refHome      = "refs/ralph/home"      // the same, as the user gets it
	refPublished = "refs/ralph/published" // what the user's branch was last set to
	refRewritten = "refs/ralph/rewritten/"
)

// CreateStore makes the store of a new run and fetches the base's objects: by links
// to the repository's packs where share says so.
func CreateStore(ctx context.Context, o Options, share bool) (*Store, error) {
	s := &Store{Options: o, git: o.Repo.git}
	for _, dir := range []string{"objects/pack", "objects/info", "refs/heads"} {
		if err := os.MkdirAll(filepath.Join(o.Dir, dir), 0o755); err != nil {
			return nil, fmt.Errorf("making the run's repository: %w", err)
		}
	}
	err := errors.Join(
		os.WriteFile(filepath.Join(o.Dir, "HEAD"), []byte("ref: "+refHome+"\n"), 0o600),
		os.WriteFile(filepath.Join(o.Dir, "config"), []byte(baseConfig(o.Repo.Format, true)), 0o600),
	)
	if err == nil && o.Repo.shallow {
		err = copyFile(filepath.Join(o.Repo.Common, "shallow"), filepath.Join(o.Dir, "shallow"))
	}
	if err != nil {
		return nil, fmt.Errorf("making the run's repository: %w", err)
	}
	if err := s.takeObjects(ctx, share); err != nil {
		return nil, err
	}
	return s, s.setRefs(ctx, map[string]string{refHome: o.Base, refSandbox: o.Base})
}

// OpenStore opens the store of a run that exists.
func OpenStore(ctx context.Context, o Options) (*Store, error) {
	s := &Store{Options: o, git: o.Repo.git}
	if _, err := os.Lstat(filepath.Join(o.Dir, "HEAD")); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the run has no repository at %s", o.Dir)
	}
	if home, err := s.ref(ctx, refHome); err != nil || home == "" {
		return nil, errors.Join(fmt.Errorf("the run's repository at %s is not whole", o.Dir), err)
	}
	return s, nil
}

// Objects is the folder that sandboxes see, read-only.
func (s *Store) Objects() string { return filepath.Join(s.Dir, "objects") }

// Tip is the last commit that came home; at first the base.
func (s *Store) Tip(ctx context.Context) (string, error) { return s.ref(ctx, refHome) }

// SandboxTip is the same commit, as the sandbox knows it.
func (s *Store) SandboxTip(ctx context.Context) (string, error) { return s.ref(ctx, refSandbox) }

func (s *Store) call(args ...string) call { return call{dir: s.Dir, args: args} }

// ref reads a ref; empty: there is none.
func (s *Store) ref(ctx context.Context, name string) (string, error) {
	value, err := s.git.line(ctx, s.call("rev-parse", "--verify", "--quiet", name))
	if saidNo(err) {
		return "", nil
	}
	return value, err
}

// Has tells whether a commit has a file.
func (s *Store) Has(ctx context.Context, commit, path string) (bool, error) {
	out, err := s.git.output(ctx, s.call("ls-tree", "--name-only", "-z", commit, "--", path))
	return len(out) > 0, err
}

// setRefs moves refs, all or none.
func (s *Store) setRefs(ctx context.Context, refs map[string]string) error {
	c := s.call("update-ref", "--stdin")
	c.stdin = updates(refs)
	c.env = s.Identity.env("")
	if err := s.git.run(ctx, c); err != nil {
		return fmt.Errorf("updating the run's repository: %w", err)
	}
	return nil
}

// env makes an identity that of a git. An empty date means now.
func (i Identity) env(date string) []string {
	env := []string{
		"GIT_AUTHOR_NAME=" + i.Name, "GIT_AUTHOR_EMAIL=" + i.Email,
		"GIT_COMMITTER_NAME=" + i.Name, "GIT_COMMITTER_EMAIL=" + i.Email,
	}
	if date != "" {
		env = append(env, "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
	}
	return env
}
