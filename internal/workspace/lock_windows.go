package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// errLocked means that another process holds the lock.
var errLocked = errors.New("locked by another process")

// lockFile locks a byte far behind the end, so that others can still read who
// the holder is.
func lockFile(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	at := &windows.Overlapped{Offset: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return err
}
