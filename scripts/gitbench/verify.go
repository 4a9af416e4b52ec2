package main

import (
	"fmt"
	"os"
)

const (
	trusting = "the tree with 2,000 trusted files of the base"
	clean    = "a clean checkout of it"
)

// verify measures what a second look at finished work costs before its command
// starts: a checkout in which the trusted files are the base's.
func (b *bench) verify() error {
	j, err := b.newJob()
	if err != nil {
		return err
	}
	if err := j.work(j.store.Identity); err != nil {
		return err
	}
	bundle, err := j.collect()
	if err == nil {
		err = j.bring(bundle)
	}
	if err != nil {
		return err
	}
	took := times{}
	for range rounds {
		if err := j.verifyOnce(took); err != nil {
			return err
		}
	}
	heading("a verification", "best of 5")
	row(trusting, show(took.best(trusting)))
	row(clean, show(took.best(clean)))
	return j.remove()
}

// verifyOnce makes the checkout and throws it away.
func (j *job) verifyOnce(took times) error {
	tip, err := j.store.Tip(j.b.ctx)
	if err != nil {
		return err
	}
	var tree string
	err = took.take(trusting, func() error {
		var changed []string
		tree, changed, err = j.store.TrustedTree(j.b.ctx, tip, []string{"d00/**"}, nil)
		if err == nil && len(changed) == 0 {
			err = fmt.Errorf("the agent's changes to %s were not found", filePath(977))
		}
		return err
	})
	if err != nil {
		return err
	}
	place := j.b.place()
	clone := cloneIn(place)
	if err := took.take(clean, func() error { return j.store.Clone(j.b.ctx, clone, tip, tree) }); err != nil {
		return err
	}
	return os.RemoveAll(place)
}
