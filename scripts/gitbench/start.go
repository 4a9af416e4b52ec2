package main

import (
	"os"

	"github.com/agent-loop/ralph/internal/git"
)

// What is measured of a start.
const (
	shared     = "ralph's clone, objects shared"
	copied     = "ralph's clone, objects copied"
	worktree   = "`git worktree add --detach`"
	localClone = "`git clone --local`"
	fullClone  = "`git clone --no-local`"

	partStore = ", of that the store"
	partClone = ", of that the git directory and the files"
)

// start measures how long it takes until an agent could begin.
func (b *bench) start() error {
	took := times{}
	for range rounds {
		for _, once := range []func(times) error{
			func(t times) error { return b.startRun(t, shared, true) },
			func(t times) error { return b.startRun(t, copied, false) },
			b.startWorktree,
			func(t times) error { return b.startClone(t, localClone, "--local") },
			func(t times) error { return b.startClone(t, fullClone, "--no-local") },
		} {
			if err := once(took); err != nil {
				return err
			}
		}
	}
	heading("start on 50,000 commits, 20,000 files", "best of 5", "times `git worktree add`")
	for _, what := range []string{shared, copied, worktree, localClone, fullClone} {
		row(what, show(took.best(what)), ratio(took.best(what), took.best(worktree)))
		for _, part := range []string{partStore, partClone} {
			if len(took[what+part]) > 0 {
				row(what+part, show(took.ofBest(what, what+part)), "")
			}
		}
	}
	return nil
}

// startRun makes a run's store and clone.
func (b *bench) startRun(took times, what string, share bool) error {
	place := b.place()
	err := took.take(what, func() error {
		var store *git.Store
		err := took.take(what+partStore, func() (err error) {
			store, err = git.CreateStore(b.ctx, b.options(place), share)
			return err
		})
		if err != nil {
			return err
		}
		return took.take(what+partClone, func() error { return store.Clone(b.ctx, cloneIn(place), b.base, "") })
	})
	if err != nil {
		return err
	}
	return os.RemoveAll(place)
}

func (b *bench) startWorktree(took times) error {
	place := b.place()
	err := took.take(worktree, func() error {
		_, err := plainGit(b.ctx, b.user, "worktree", "add", "-q", "--detach", place)
		return err
	})
	if err != nil {
		return err
	}
	_, err = plainGit(b.ctx, b.user, "worktree", "remove", "--force", place)
	return err
}

func (b *bench) startClone(took times, what, how string) error {
	place := b.place()
	err := took.take(what, func() error {
		_, err := plainGit(b.ctx, b.folder, "clone", "-q", how, b.user, place)
		return err
	})
	if err != nil {
		return err
	}
	return os.RemoveAll(place)
}
