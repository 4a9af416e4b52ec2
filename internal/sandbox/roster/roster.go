// Package roster keeps one engine's sandboxes on disk: who there is, whose ralph
// is still alive, and what dead ones left behind.
//
// Each sandbox has a folder of its own, named after it. The ralph that made it
// holds a lock in it for as long as it lives, and the system takes the lock back
// however that ralph ends; so whoever gets the lock knows that the sandbox is
// stale. A folder gets its name when it is locked already, and no name is given
// twice: what is stale stays so.
package roster

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/agent-loop/ralph/internal/lockfile"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// Roster is the folder of one engine's sandboxes. It holds nothing open, and its
// methods may be called from several goroutines and processes.
type Roster struct {
	engine string
	dir    string
}

// New returns the roster of an engine. The folder is made when it is needed, and
// is for nothing else.
func New(engine, dir string) *Roster { return &Roster{engine: engine, dir: dir} }

// newPrefix marks a folder that is being made.
const newPrefix = ".new-"

// validID is what newID makes; nothing else is ever joined to a path.
var validID = regexp.MustCompile(`^ralph-[0-9a-f]{12}$`)

func newID() (string, error) {
	b := make([]byte, 6)
	if _, err := rand.Read(b); err != nil {
		return "", fmt.Errorf("choosing a sandbox id: %w", err)
	}
	return "ralph-" + hex.EncodeToString(b), nil
}

// Add makes a new sandbox's folder and holds its lock.
func (r *Roster) Add() (*Entry, error) {
	const attempts = 10
	var e *Entry
	err := lockfile.ErrHeld
	for i := 0; i < attempts && errors.Is(err, lockfile.ErrHeld); i++ {
		e, err = r.add()
	}
	return e, err
}

// add fails with lockfile.ErrHeld if another ralph looked at the folder before it was
// locked; see nameLocked for where that can be.
func (r *Roster) add() (*Entry, error) {
	id, err := newID()
	if err != nil {
		return nil, err
	}
	e := &Entry{ID: id, Dir: r.path(id), engine: r.engine}
	beside := r.path(newPrefix + id)
	if err := os.MkdirAll(beside, folderMode()); err != nil {
		return nil, fmt.Errorf("creating the sandbox's folder: %w", err)
	}
	if e.lock, err = nameLocked(beside, e.Dir); err != nil {
		return nil, errors.Join(err, removeDir(beside), removeDir(e.Dir))
	}
	return e, nil
}

// folderMode lets others pass through when ralph is root: a sandbox's processes
// are then nobody on the host, and must still be able to walk to their root file
// system.
func folderMode() fs.FileMode {
	if os.Geteuid() == 0 {
		return 0o711
	}
	return 0o700
}

// List returns every sandbox, oldest first: running while its lock is held, be it
// by a ralph that sweeps it, and stale otherwise. One without a readable record,
// which is still being made or died before it was, is as old as its folder.
func (r *Roster) List() ([]Record, error) {
	entries, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing sandboxes: %w", err)
	}
	var found []Record
	for _, e := range entries {
		if record, err := r.Get(e.Name()); err == nil {
			found = append(found, record)
		}
	}
	slices.SortStableFunc(found, func(a, b Record) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return found, nil
}

// Statuses is List without what only the engine understands.
func (r *Roster) Statuses() ([]sandbox.Status, error) {
	records, err := r.List()
	if err != nil {
		return nil, err
	}
	list := make([]sandbox.Status, 0, len(records))
	for _, record := range records {
		list = append(list, record.Status)
	}
	return list, nil
}

// Get returns one sandbox. The error is fs.ErrNotExist if there is none of that
// name, or if it is no name that a roster gives.
func (r *Roster) Get(id string) (Record, error) {
	if !validID.MatchString(id) {
		return Record{}, fmt.Errorf("looking for sandbox %q: %w", id, fs.ErrNotExist)
	}
	dir := r.path(id)
	held, lockErr := isHeld(dir)
	record, readErr := readRecord(dir)
	if lockErr != nil || readErr != nil { // its owner may be deleting it right now
		info, err := os.Lstat(dir)
		if err != nil {
			return Record{}, fmt.Errorf("looking for sandbox %q: %w", id, err)
		}
		if readErr != nil {
			record = Record{Status: sandbox.Status{CreatedAt: info.ModTime()}}
		}
	}
	record.ID, record.Engine, record.State = id, r.engine, sandbox.Stale
	if held {
		record.State = sandbox.Running
	}
	return record, nil
}

// path is where a name lies below the folder.
func (r *Roster) path(name string) string { return filepath.Join(r.dir, name) }
