package roster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-loop/ralph/internal/lockfile"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// Sweep deletes what sandboxes left behind whose ralph is dead. Before a folder
// goes, remove ends what the engine knows of the sandbox; it may be nil. It runs
// with the sandbox's lock held, so never twice at once for the same one, but it
// may run for one that another ralph has just cleaned up. When it fails, or the
// folder cannot be deleted, the next sweep tries again. A sandbox without a record
// is left alone for a minute.
func (r *Roster) Sweep(remove func(Record) error) {
	records, err := r.List()
	if err != nil {
		return
	}
	for _, record := range records {
		if record.State == sandbox.Stale {
			r.sweep(record, remove)
		}
	}
	r.sweepNameless()
}

// unfinished is how long a folder without a record, or without its name, is taken
// for one that another ralph is making or deleting right now.
const unfinished = time.Minute

func (r *Roster) sweep(record Record, remove func(Record) error) {
	dir := r.path(record.ID)
	if _, err := readRecord(dir); err != nil && !isOld(dir) {
		return
	}
	lock, err := claim(dir)
	if errors.Is(err, lockfile.ErrHeld) || err != nil && !isOld(dir) {
		return
	}
	defer lock.Close() // harmless on nil
	if remove != nil && remove(record) != nil {
		return
	}
	lock.Close() // some systems delete no file that is open
	_ = removeDir(dir)
}

// sweepNameless deletes folders whose ralph died before they got their name.
// Those hold nothing yet that an engine would have to end.
func (r *Roster) sweepNameless() {
	nameless, _ := filepath.Glob(r.path(newPrefix + "*"))
	for _, dir := range nameless {
		if isOld(dir) {
			_ = removeDir(dir)
		}
	}
}

// isOld reports whether a folder is there and nothing happens in it.
func isOld(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && time.Since(info.ModTime()) > unfinished
}

// patience is how long Remove waits for another ralph to notice that its sandbox
// has been ended.
const patience = 10 * time.Second

// Remove ends a sandbox that may be another ralph's, waits until that one has
// let go of it, and deletes the folder. What is not there, or has no name that a
// roster gives, is no error.
//
// It calls kill again and again while the other ralph lives, since that may still
// be starting what is to be ended, and once more when it is gone, with the lock
// held. An error of kill is returned at once, and the folder stays.
func (r *Roster) Remove(ctx context.Context, id string, kill func(Record) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	const shortest, longest = 2 * time.Millisecond, 250 * time.Millisecond
	for pause := shortest; ; pause = min(2*pause, longest) {
		record, err := r.Get(id)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if gone, err := r.end(record, kill); gone || err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("ending the sandbox: %w", ctx.Err())
		}
	}
}

// end ends a sandbox, and deletes it if its ralph is gone.
func (r *Roster) end(record Record, kill func(Record) error) (gone bool, err error) {
	dir := r.path(record.ID)
	lock, claimErr := claim(dir)    // one without a lock has no owner either
	defer func() { lock.Close() }() // harmless on nil
	if err := kill(record); err != nil {
		return false, err
	}
	if errors.Is(claimErr, lockfile.ErrHeld) {
		return false, nil
	}
	lock.Close() // some systems delete no file that is open
	return true, removeDir(dir)
}

func removeDir(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("deleting the sandbox's state: %w", err)
	}
	return nil
}
