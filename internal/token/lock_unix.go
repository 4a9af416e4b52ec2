//go:build unix

package token

import (
	"errors"
	"os"
	"syscall"
)

// lockFile does not wait.
func lockFile(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return errLocked
	}
	return err
}
