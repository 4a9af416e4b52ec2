//go:build unix

package budget

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// openFlags keep a planted link from leading elsewhere.
const openFlags = syscall.O_NOFOLLOW

// tryLock takes the lock of an open file, or returns errBusy. It belongs to this
// opening of the file, so two openings in one process exclude each other, and
// the kernel frees it when the process dies.
func tryLock(f *os.File) error {
	err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errBusy
	}
	return err
}

func unlock(f *os.File) error { return flock(f, syscall.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("flock", err)
		}
	}
}

// checkPrivate refuses a file that someone else could write or put in place.
func checkPrivate(info os.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular() || !ok:
		return errors.New("it is not a regular file")
	case int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("it belongs to user %d, not to user %d who runs this", stat.Uid, os.Geteuid())
	case info.Mode().Perm() != 0o600:
		return fmt.Errorf("its mode is %#o; chmod 600 it if nobody else has written it", info.Mode().Perm())
	case stat.Nlink > 1:
		return errors.New("it has another name (hard link)")
	}
	return nil
}

// syncDirectory makes a new file's name survive a power loss.
func syncDirectory(path string) error {
	directory, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer directory.Close()
	return directory.Sync()
}
