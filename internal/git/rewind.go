package git

import (
	"context"
	"fmt"
)

// Rewind takes the run back, or forth again, to a commit that came home in it, or to
// its base. The user's branch follows where [Store.Publish] may move it; held is why
// it was not moved. What came home since stays in the store. A clone that was made
// before has the wrong commits: the run goes on with a new one at this commit, which
// from now on is the same inside and outside, whatever was written anew before.
//
// Doing it twice is no harm, and mends one that was interrupted.
func (s *Store) Rewind(ctx context.Context, commit string) (held string, err error) {
	to, err := s.object(ctx, commit, "commit")
	if err != nil {
		return "", err
	}
	if err := s.cameHome(ctx, to); err != nil {
		return "", err
	}
	if err := s.setRefs(ctx, map[string]string{refHome: to, refSandbox: to}); err != nil {
		return "", err
	}
	return s.Publish(ctx)
}

// cameHome refuses commits that the user did not get from this run. The store has
// others: those of the user's other branches, and those of the sandbox that were
// written anew.
func (s *Store) cameHome(ctx context.Context, commit string) error {
	err := s.git.run(ctx, s.call("merge-base", "--is-ancestor", s.Base, commit))
	if saidNo(err) {
		return fmt.Errorf("commit %s does not build on %s, which the run began with", short(commit), short(s.Base))
	}
	if err != nil {
		return err
	}
	// The log of HEAD has every tip that the user got, since HEAD stands for them.
	beyond, err := s.git.line(ctx, s.call("rev-list", "--max-count=1", commit, "--not", s.Base, "--reflog", refHome))
	if err == nil && beyond != "" {
		err = fmt.Errorf("commit %s did not come home in this run", short(commit))
	}
	return err
}
