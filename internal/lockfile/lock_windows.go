package lockfile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockedByte is the one that is locked. It lies far behind the end of any file:
// locks are mandatory here, and must not keep others from reading.
func lockedByte() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }

// How a lock is held.
const (
	alone  = windows.LOCKFILE_EXCLUSIVE_LOCK
	shared = 0
)

func try(f *os.File, how uint32) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, lockedByte())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrHeld
	}
	return os.NewSyscallError("LockFileEx", err)
}

func unlock(f *os.File) error {
	return os.NewSyscallError("UnlockFileEx", windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte()))
}
