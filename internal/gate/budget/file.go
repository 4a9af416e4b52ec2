package budget

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/agent-loop/ralph/internal/lockfile"
)

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

// checkPrivate refuses a file that someone else could write or put in place.
func checkPrivate(info os.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	mode, err := info.Mode().Perm(), lockfile.Owned(info, 0o177)
	switch {
	case errors.Is(err, lockfile.ErrOpen), err == nil && mode&0o600 != 0o600:
		return fmt.Errorf("its mode is %#o; chmod 600 it if nobody else has written it", mode)
	case err != nil:
		return err
	}
	return lockfile.OneName(info)
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
