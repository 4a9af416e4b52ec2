package token

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// errLocked means that another process holds the lock.
var errLocked = errors.New("locked by another process")

const (
	lockPause    = 20 * time.Millisecond
	lockPatience = 2 * time.Minute // longer than any renewal takes
)

// lock takes the lock on a credential that all processes of this user share. The
// file stays: removing it would let two processes hold locks on two files.
func (s *Store) lock(ctx context.Context, name string) (unlock func(), err error) {
	root, err := s.files.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.OpenFile(name+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the credential %s: %w", name, err)
	}
	if err := waitForLock(ctx, file); err != nil {
		file.Close()
		return nil, fmt.Errorf("locking the credential %s: %w", name, err)
	}
	return func() { file.Close() }, nil // closing unlocks
}

// waitForLock asks again and again: waiting in the kernel could not be
// interrupted.
func waitForLock(ctx context.Context, file *os.File) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lockPatience, errLocked)
	defer cancel()
	for {
		err := lockFile(file)
		if !errors.Is(err, errLocked) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(lockPause):
		}
	}
}
