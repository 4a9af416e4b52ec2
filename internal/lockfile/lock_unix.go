//go:build unix

package lockfile

import (
	"errors"
	"os"
	"syscall"
)

// How a lock is held.
const (
	alone  = syscall.LOCK_EX
	shared = syscall.LOCK_SH
)

func try(f *os.File, how int) error {
	err := flock(f, how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrHeld
	}
	return err
}

func unlock(f *os.File) error { return flock(f, syscall.LOCK_UN) }

// flock asks again after a signal, which says nothing about the lock.
func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return os.NewSyscallError("flock", err)
		}
	}
}
