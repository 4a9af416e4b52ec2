package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Apply asks for a commit to be merged into the branch that is checked out.
type Apply struct {
	Commit         string  // the whole name of one that the repository has
	Name           string  // what the user calls it, such as "run r1"
	Squash         bool    // stage the changes, and leave it to the user to commit
	Signer         *Signer // signs the merge commit; nil: it is not signed
	Protected      func(path string) bool
	AllowProtected bool
	Getenv         func(string) string // the user's environment; nil: that of this process
}

// Applied is what came of it.
type Applied struct {
	Branch      string
	From, To    string // where the branch was, and is; the same if nothing was committed
	FastForward bool
	Squashed    bool
	Nothing     bool // all of it was there already
	Files       int  // that were changed
	Stat        string
}

// Apply merges a commit into the branch that is checked out in the repository's work
// tree, which must be one that no agent can write. It is all or nothing: whatever
// stands in the way is found before the first file is touched, and told in a
// *RefusedError, or a *ConflictError where both sides changed the same lines. What
// the user has changed elsewhere stays as it is.
//
// None of the user's hooks and filters run, as everywhere in this package: files that
// need a filter are refused. Settings that say how files are written are honoured.
// While it works it holds the lock of the user's index, as git does.
func (r *Repository) Apply(ctx context.Context, o Apply) (done Applied, err error) {
	if !isObjectName(o.Commit, r.Format) {
		return Applied{}, fmt.Errorf("applying %s: %q is no commit", plain(o.Name), o.Commit)
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	index, err := r.lockIndex()
	if err != nil {
		return Applied{}, err
	}
	defer func() { err = errors.Join(err, index.release()) }()
	err = r.with(func(v *view) error {
		a := &applying{Apply: o, view: v, index: index}
		done, err = a.run(ctx)
		return err
	})
	return done, err
}

// applying is an Apply at work.
type applying struct {
	Apply
	*view
	index  *lockedIndex
	config []string // environment: how files are written
	who    Identity
	nobody error // why the user cannot be named in a commit

	branch, from string
	tree         string // what comes out
	fastForward  bool
	changed      []pathChange // from from to tree
}

func (a *applying) run(ctx context.Context) (Applied, error) {
	if err := a.begin(ctx); err != nil {
		return Applied{}, err
	}
	nothing, err := a.merge(ctx)
	if err != nil {
		return Applied{}, err
	}
	done := Applied{Branch: a.branch, From: a.from, To: a.from, Nothing: nothing, Squashed: a.Squash}
	if nothing {
		return done, nil
	}
	if err := a.check(ctx); err != nil {
		return Applied{}, err
	}
	if done.Stat, err = a.stat(ctx); err != nil {
		return Applied{}, err
	}
	done.FastForward, done.Files = a.fastForward && !a.Squash, len(a.changed)
	done.To, err = a.carryOut(ctx)
	return done, err
}

// begin finds out where the user is, and how files are to be written.
func (a *applying) begin(ctx context.Context) error {
	if err := a.repo.checkIdle(); err != nil {
		return err
	}
	if a.branch = a.repo.Head(); a.branch == "" {
		return refuse(a.repo.Top, "no branch is checked out there", "git switch <branch>")
	}
	var err error
	if a.from, err = a.resolve(ctx, "refs/heads/"+a.branch); err != nil {
		return err
	}
	if a.from == "" {
		return refuse(a.repo.Top, "the branch "+a.branch+" has no commit yet", "git switch to a branch that has one")
	}
	if known, err := a.resolve(ctx, a.Commit); err != nil || known == "" {
		return errors.Join(err, fmt.Errorf("applying %s: the repository does not have commit %s", plain(a.Name), short(a.Commit)))
	}
	if err := a.ownLogs(); err != nil {
		return fmt.Errorf("applying %s: %w", plain(a.Name), err)
	}
	return a.readSettings(ctx)
}

// ownLogs gives the view of a linked work tree that tree's own log of HEAD.
func (a *applying) ownLogs() error {
	if a.repo.Dir == a.repo.Common {
		return nil
	}
	logs := filepath.Join(a.dir, "logs")
	if err := errors.Join(os.Remove(logs), os.Mkdir(logs, 0o700)); err != nil {
		return err
	}
	refs := filepath.Join(a.repo.Common, "logs", "refs")
	return errors.Join(
		os.MkdirAll(refs, 0o755), os.MkdirAll(filepath.Join(a.repo.Dir, "logs"), 0o755),
		os.Symlink(refs, filepath.Join(logs, "refs")),
		os.Symlink(filepath.Join(a.repo.Dir, "logs", "HEAD"), filepath.Join(logs, "HEAD")),
	)
}

// inTree is a git that works on the user's files, with a copy of the user's index.
func (a *applying) inTree(args ...string) call {
	c := a.call(args...)
	c.tree, c.index, c.env = a.repo.Top, a.index.copy, a.config
	return c
}

// carryOut changes the files, the branch and the index, in this order. From here on
// nobody can interrupt it. It returns where the branch is then.
func (a *applying) carryOut(ctx context.Context) (string, error) {
	to, err := a.commit(ctx)
	if err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	ctx = context.WithoutCancel(ctx)
	if err := a.git.run(ctx, a.inTree("read-tree", "-m", "-u", a.from, a.tree)); err != nil {
		return "", fmt.Errorf("applying %s: some files may have been written and nothing was committed; see git status: %w", plain(a.Name), err)
	}
	if to != a.from {
		if err := a.moveBranch(ctx, to); err != nil {
			return "", errors.Join(err, a.putBack(ctx))
		}
	}
	if err := a.index.replace(); err != nil {
		return "", fmt.Errorf("applying %s: the files are written, but the index is not; git read-tree HEAD mends it: %w", plain(a.Name), err)
	}
	return to, nil
}

// moveBranch moves the branch from where it was found.
func (a *applying) moveBranch(ctx context.Context, to string) error {
	c := a.call("update-ref", "-m", "ralph: apply "+plainName(a.Name), "refs/heads/"+a.branch, to, a.from)
	c.env = a.who.env("")
	if err := a.git.run(ctx, c); err != nil {
		return fmt.Errorf("applying %s: the branch %s could not be moved: %w", plain(a.Name), a.branch, err)
	}
	return nil
}

// putBack undoes the change of the files.
func (a *applying) putBack(ctx context.Context) error {
	if err := a.git.run(ctx, a.inTree("read-tree", "-m", "-u", a.tree, a.from)); err != nil {
		return fmt.Errorf("putting the files back as they were: %w; see git status", err)
	}
	return nil
}

// stat is the summary that git merge prints.
func (a *applying) stat(ctx context.Context) (string, error) {
	out, err := a.git.output(ctx, a.call("diff-tree", "-r", "--stat=80,60,40", "--no-renames", a.from, a.tree))
	return strings.TrimRight(string(out), "\n"), err
}

// plainName is a name for the messages of commits and logs: one line of it.
func plainName(name string) string { return strings.Join(strings.Fields(plain(name)), " ") }
