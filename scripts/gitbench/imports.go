package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/agent-loop/ralph/internal/git"
)

// inRow is how many imports follow each other: the first few are compared with the
// last few, which find what all the others left.
const inRow = 25

const (
	collecting = "collect, in the clone"
	importing  = "import"
	rewriting  = "import of commits by somebody else, written anew"
	fetching   = "`git fetch` with fsck, from a plain clone"
)

// imports measures how long it takes to bring one iteration home.
func (b *bench) imports() error {
	took := times{}
	if err := b.importRow(took, importing, b.options("").Identity); err != nil {
		return err
	}
	if err := b.importRow(took, rewriting, git.Identity{Name: "Agent", Email: "agent@example.com"}); err != nil {
		return err
	}
	if err := b.fetchRow(took); err != nil {
		return err
	}
	heading("an iteration: 3 commits, 10 files", "first", "best of the first 5", "best of the last 5 of 25", "times `git fetch`")
	for _, what := range []string{collecting, importing, rewriting, fetching} {
		all := took[what]
		few, late := slices.Min(all[:rounds]), slices.Min(all[inRow-rounds:inRow])
		row(what, show(all[0]), show(few), show(late), ratio(late, slices.Min(took[fetching][inRow-rounds:])))
	}
	return nil
}

// importRow imports many iterations of one run.
func (b *bench) importRow(took times, what string, who git.Identity) error {
	j, err := b.newJob()
	if err != nil {
		return err
	}
	for range inRow {
		if err := j.work(who); err != nil {
			return err
		}
		var bundle []byte
		err := took.take(collecting, func() (err error) {
			bundle, err = j.collect()
			return err
		})
		if err != nil {
			return err
		}
		if err := took.take(what, func() error { return j.bring(bundle) }); err != nil {
			return err
		}
	}
	return j.remove()
}

// fetchRow is the same work between plain repositories.
func (b *bench) fetchRow(took times) error {
	peer := b.place()
	if _, err := plainGit(b.ctx, b.folder, "clone", "-q", "--local", b.user, peer); err != nil {
		return err
	}
	for n := range inRow {
		if out, err := plainCommand(b.ctx, peer, "sh", "-ec", changes(n)).CombinedOutput(); err != nil {
			return fmt.Errorf("a plain clone's work: %w\n%s", err, out)
		}
		err := took.take(fetching, func() error {
			_, err := plainGit(b.ctx, b.user, "-c", "transfer.fsckObjects=true", "fetch", "-q", peer, "main:refs/heads/fetched")
			return err
		})
		if err != nil {
			return err
		}
	}
	return os.RemoveAll(peer)
}
