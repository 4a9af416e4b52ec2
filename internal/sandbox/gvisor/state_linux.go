package gvisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// A sandbox's folder holds all there is of it on disk:
//
//	state.json   what sandbox.Status says, and the launcher's process
//	lock         held by the ralph process that created it, as long as it lives
//	bundle/      what gVisor was started from
//	runsc/       gVisor's own state, with the control socket
func bundleDir(dir string) string { return filepath.Join(dir, "bundle") }
func runscDir(dir string) string  { return filepath.Join(dir, "runsc") }
func statePath(dir string) string { return filepath.Join(dir, "state.json") }
func lockPath(dir string) string  { return filepath.Join(dir, "lock") }

// newPrefix marks a folder that is being made.
const newPrefix = ".new-"

// validID is what newID makes; nothing else is ever joined to a path.
var validID = regexp.MustCompile(`^ralph-[0-9a-f]{12}$`)

// record is state.json.
type record struct {
	sandbox.Status
	Launcher int `json:"launcher"`
}

func writeRecord(dir string, r record) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the sandbox's state: %w", err)
	}
	beside := statePath(dir) + ".new"
	if err := os.WriteFile(beside, data, 0o600); err != nil {
		return fmt.Errorf("writing the sandbox's state: %w", err)
	}
	if err := os.Rename(beside, statePath(dir)); err != nil {
		return fmt.Errorf("writing the sandbox's state: %w", err)
	}
	return nil
}

func readRecord(dir string) (record, error) {
	var r record
	data, err := os.ReadFile(statePath(dir))
	if err != nil {
		return r, fmt.Errorf("reading the sandbox's state: %w", err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("reading the sandbox's state: %w", err)
	}
	return r, nil
}

// createLock makes and takes the lock of a new folder.
func createLock(dir string) (*os.File, error) {
	f, err := os.OpenFile(lockPath(dir), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the sandbox's state: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("locking the sandbox's state: %w", err)
	}
	return f, nil
}

// takeLock takes the lock of an existing folder, shared with others who only
// look. It returns nil when its owner has it.
func takeLock(dir string) (*os.File, error) {
	f, err := os.OpenFile(lockPath(dir), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("locking the sandbox's state: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		f.Close()
		return nil, nil
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("locking the sandbox's state: %w", err)
	}
	return f, nil
}

// scan returns every sandbox below base, oldest first. One without a readable
// state is reported as stale: it died while it was made.
func scan(base string) ([]record, error) {
	entries, err := os.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing sandboxes: %w", err)
	}
	var found []record
	for _, e := range entries {
		if !validID.MatchString(e.Name()) {
			continue
		}
		r, gone := look(filepath.Join(base, e.Name()), e)
		if !gone {
			found = append(found, r)
		}
	}
	slices.SortStableFunc(found, func(a, b record) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return found, nil
}

// look reads one sandbox's folder, which its owner may be deleting right now.
func look(dir string, e fs.DirEntry) (r record, gone bool) {
	lock, err := takeLock(dir)
	if err != nil {
		_, statErr := os.Stat(dir)
		gone = errors.Is(statErr, fs.ErrNotExist)
	}
	r, readErr := readRecord(dir)
	if readErr != nil {
		if info, err := e.Info(); err == nil {
			r.CreatedAt = info.ModTime()
		}
	}
	r.ID, r.Engine, r.State = e.Name(), Name, sandbox.Running
	if lock != nil || err != nil {
		r.State = sandbox.Stale
		lock.Close() // harmless on nil
	}
	return r, gone
}
