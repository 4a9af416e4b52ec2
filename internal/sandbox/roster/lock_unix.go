//go:build unix

package roster

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

func lockAlone(f *os.File) error  { return flock(f, syscall.LOCK_EX) }
func lockShared(f *os.File) error { return flock(f, syscall.LOCK_SH) }

// flock asks again after a signal, which says nothing about the lock.
func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errHeld
		case !errors.Is(err, syscall.EINTR):
			return os.NewSyscallError("flock", err)
		}
	}
}

// nameLocked gives a new folder its name. It is locked before, so that no other
// ralph takes it for a dead one's.
func nameLocked(beside, dir string) (*os.File, error) {
	lock, err := createLock(beside)
	if err != nil {
		return nil, err
	}
	if err := os.Rename(beside, dir); err != nil {
		lock.Close()
		return nil, fmt.Errorf("creating the sandbox's folder: %w", err)
	}
	return lock, nil
}
