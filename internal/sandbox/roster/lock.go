package roster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agent-loop/ralph/internal/lockfile"
)

// Owners and sweepers hold a folder's lock alone. Whoever only looks shares it
// with others who look, so that they do not take each other for its owner.

func lockPath(dir string) string { return filepath.Join(dir, "lock") }

// createLock makes and takes the lock of a new folder.
func createLock(dir string) (*os.File, error) {
	return openLock(dir, os.O_CREATE|os.O_EXCL, lockfile.Try)
}

// claim takes the lock of an existing folder, or returns lockfile.ErrHeld.
func claim(dir string) (*os.File, error) { return openLock(dir, 0, lockfile.Try) }

// isHeld reports whether the lock of a folder is held. It is an error if there is
// none.
func isHeld(dir string) (bool, error) {
	f, err := openLock(dir, 0, lockfile.TryShared)
	if errors.Is(err, lockfile.ErrHeld) {
		return true, nil
	}
	if err == nil {
		f.Close()
	}
	return false, err
}

func openLock(dir string, flag int, lock func(*os.File) error) (*os.File, error) {
	f, err := os.OpenFile(lockPath(dir), os.O_RDWR|flag, 0o600)
	if err == nil {
		err = lock(f)
	}
	if err != nil {
		f.Close() // harmless on nil
		return nil, fmt.Errorf("locking the sandbox's state: %w", err)
	}
	return f, nil
}
