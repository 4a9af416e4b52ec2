package token

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/agent-loop/ralph/internal/lockfile"
)

// lockPatience is longer than any renewal takes.
const lockPatience = 2 * time.Minute

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
	ctx, cancel := context.WithTimeoutCause(ctx, lockPatience, lockfile.ErrHeld)
	defer cancel()
	if err := lockfile.Wait(ctx, file); err != nil {
		file.Close()
		return nil, fmt.Errorf("locking the credential %s: %w", name, err)
	}
	return func() { file.Close() }, nil // closing unlocks
}
