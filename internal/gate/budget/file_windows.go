package budget

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// openFlags has no word against links here; openPrivate compares instead.
const openFlags = 0

// lockedByte lies far behind the end of any ledger: locks are mandatory here,
// and must not keep others from reading.
var lockedByte = windows.Overlapped{OffsetHigh: 1 << 30}

// tryLock takes the lock of an open file, or returns errBusy. It belongs to this
// handle, and the system frees it when the process dies.
func tryLock(f *os.File) error {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	at := lockedByte
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errBusy
	}
	return os.NewSyscallError("LockFileEx", err)
}

func unlock(f *os.File) error {
	at := lockedByte
	return os.NewSyscallError("UnlockFileEx", windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &at))
}

// checkPrivate leaves who may write to the access lists of the directory.
func checkPrivate(info os.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	return nil
}

// syncDirectory does nothing: the file system journals names by itself.
func syncDirectory(string) error { return nil }
