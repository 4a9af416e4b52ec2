package roster

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

func lockAlone(f *os.File) error  { return lockFile(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }
func lockShared(f *os.File) error { return lockFile(f, 0) }

func lockFile(f *os.File, how uint32) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errHeld
	}
	return os.NewSyscallError("LockFileEx", err)
}

// nameLocked gives a new folder its name. It cannot be locked before: a folder
// with an open file in it cannot be renamed here. A sweep leaves it alone all the
// same, for it has no record and is young; somebody who looks at the wrong moment
// makes this fail with errHeld.
func nameLocked(beside, dir string) (*os.File, error) {
	if err := os.Rename(beside, dir); err != nil {
		return nil, fmt.Errorf("creating the sandbox's folder: %w", err)
	}
	return createLock(dir)
}
