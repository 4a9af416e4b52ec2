package budget

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"time"
)

// errBusy means that another process, or another opening here, has the lock.
var errBusy = errors.New("the lock is held")

// openPrivate opens a file that nobody else can have planted. The name must lead
// to the very file, not to a link.
func openPrivate(path string, flags int) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("refusing %s: it is not a regular file", path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|openFlags|flags, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = checkPrivate(info)
	}
	if err == nil {
		err = checkName(path, info)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("refusing %s: %w", path, err)
	}
	return f, nil
}

// checkName refuses when a path no longer leads to the file that was opened:
// two processes would then keep two ledgers of one budget.
func checkName(path string, opened os.FileInfo) error {
	named, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || !os.SameFile(named, opened) {
		return errors.New("it was removed or replaced while in use")
	}
	return nil
}

// lock waits for the lock of a file until the context ends or abort is closed.
// It asks again and again, for a wait inside the kernel could not be given up.
func lock(ctx context.Context, f *os.File, abort <-chan struct{}) error {
	const shortest, longest = 50 * time.Microsecond, 5 * time.Millisecond
	for wait := shortest; ; wait = min(2*wait, longest) {
		if err := tryLock(f); !errors.Is(err, errBusy) {
			return err
		}
		select {
		case <-time.After(wait/2 + rand.N(wait)):
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-abort:
			return ErrClosed
		}
	}
}
