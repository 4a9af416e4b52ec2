package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Publish brings the user's branch to the tip that came home. It returns why it did
// not, if somebody else has a say: the branch was moved by another, or is checked out.
// The commits are in the repository all the same, kept by a ref of the run. Doing it
// twice is no harm.
func (s *Store) Publish(ctx context.Context) (held string, err error) {
	tip, err := s.Tip(ctx)
	if err != nil {
		return "", err
	}
	err = s.Repo.with(func(v *view) error {
		if err := s.deliver(ctx, v, tip); err != nil {
			return err
		}
		held, err = s.move(ctx, v, tip)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("updating %s: %w", s.Repo.Top, err)
	}
	return held, nil
}

// runRef keeps a run's commits in the user's repository, whatever becomes of its branch.
func (s *Store) runRef() string { return "refs/ralph-runs/" + s.Run }

// deliver brings the objects into the user's repository.
func (s *Store) deliver(ctx context.Context, v *view, tip string) error {
	there, err := v.resolve(ctx, s.runRef())
	if err != nil || there == tip {
		return err
	}
	without := []string{s.Base}
	if there != "" {
		without = append(without, there)
	}
	c := s.call()
	c.env = objectEnv(filepath.Join(s.Repo.Common, "objects"), s.Objects())
	if err := s.pack(ctx, c, filepath.Join(s.Repo.Common, "objects/pack"), []string{tip}, without); err != nil {
		return err
	}
	return v.update(ctx, s.Identity, s.runRef(), tip, there)
}

// move moves the branch from where this run put it last.
func (s *Store) move(ctx context.Context, v *view, tip string) (held string, err error) {
	ref := "refs/heads/" + s.Branch
	is, err := v.resolve(ctx, ref)
	if err != nil || is == tip {
		return "", errors.Join(err, s.setRefs(ctx, map[string]string{refPublished: tip}))
	}
	was, err := s.ref(ctx, refPublished)
	if err != nil {
		return "", err
	}
	if was == "" && is != "" {
		was = s.Base // it was there before the run
	}
	switch {
	case is != was && is == "":
		return fmt.Sprintf("the branch %s was deleted; git branch %s %s brings it back", s.Branch, s.Branch, s.runRef()), nil
	case is != was:
		return fmt.Sprintf("the branch %s was moved by somebody else; the work is at %s", s.Branch, s.runRef()), nil
	}
	if tip == s.Base && is == "" {
		return "", nil // nothing was done yet
	}
	if dir, err := s.Repo.CheckedOut(s.Branch); err != nil || dir != "" {
		return fmt.Sprintf("the branch %s is checked out in %s", s.Branch, dir), err
	}
	if err := v.update(ctx, s.Identity, ref, tip, is); err != nil {
		return "", err
	}
	return "", s.setRefs(ctx, map[string]string{refPublished: tip})
}

// update moves a ref of the user's repository, if it is still where it was; an empty
// was means that it is new.
func (v *view) update(ctx context.Context, who Identity, ref, to, was string) error {
	if was == "" {
		was = strings.Repeat("0", len(to))
	}
	c := v.call("update-ref", "-m", "ralph: import", "--create-reflog", ref, to, was)
	c.env = who.env("")
	return v.git.run(ctx, c)
}
