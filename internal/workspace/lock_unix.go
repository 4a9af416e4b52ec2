//go:build unix

package workspace

import (
	"errors"
	"os"
	"syscall"
)

// errLocked means that another process holds the lock.
var errLocked = errors.New("locked by another process")

func lockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
