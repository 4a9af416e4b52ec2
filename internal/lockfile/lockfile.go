// Package lockfile keeps processes of one user apart by locks on files, and tells
// whether a file is that user's own.
//
// A lock belongs to one opening of a file: two openings exclude each other, in
// one process as in two. Closing the file gives the lock back, and so does the
// system when the process dies, however it dies. The lock binds only those who
// ask for it; others may still read and write the file.
//
// A lock is on the file and not on its name. Whoever lets lock files be removed
// must look, once the lock is held, that the name still leads to the file that
// was opened.
package lockfile

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"time"
)

// ErrHeld means that another opening of the file has the lock, mostly that of
// another process.
var ErrHeld = errors.New("locked by another process")

// Try takes the lock of an open file, or returns ErrHeld at once. Taking a lock
// that this very opening has already is not for callers to rely on: it succeeds
// on some systems alone.
func Try(f *os.File) error { return try(f, alone) }

// TryShared is Try for those who only look: they share the lock with each other,
// and with nobody who took it by Try.
func TryShared(f *os.File) error { return try(f, shared) }

// Unlock gives the lock back and leaves the file open. The caller must hold it.
func Unlock(f *os.File) error { return unlock(f) }

// Wait takes the lock of an open file as soon as it is free. When ctx ends
// before, it returns the cause of that; a lock that is free is taken even then.
//
// It asks again and again, for a wait inside the kernel could not be given up.
// Who waits longest does not come first.
func Wait(ctx context.Context, f *os.File) error {
	const shortest, longest = 50 * time.Microsecond, 5 * time.Millisecond
	for pause := shortest; ; pause = min(2*pause, longest) {
		if err := Try(f); !errors.Is(err, ErrHeld) {
			return err
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
