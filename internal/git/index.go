package git

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// lockedIndex is the user's index while nobody else may change it. The work is done
// on a copy beside it, which takes its place at the end.
type lockedIndex struct {
	file, lock, copy string
	mode             fs.FileMode
}

// lockIndex takes the lock that git takes, so that neither the user's git nor another
// apply comes in between.
func (r *Repository) lockIndex() (*lockedIndex, error) {
	x := &lockedIndex{file: filepath.Join(r.Dir, "index")}
	info, err := os.Lstat(x.file)
	if err != nil || !info.Mode().IsRegular() {
		return nil, refuse(r.Top, "it has no index", "git reset")
	}
	x.mode = info.Mode().Perm()
	lock, err := os.OpenFile(x.file+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, refuse(r.Top, "another git is at work there", "try again; if none is, remove "+x.file+".lock")
	}
	if err != nil {
		return nil, fmt.Errorf("locking the index: %w", err)
	}
	x.lock = lock.Name()
	if err := errors.Join(lock.Close(), x.makeCopy()); err != nil {
		return nil, errors.Join(fmt.Errorf("copying the index: %w", err), x.release())
	}
	return x, nil
}

// makeCopy copies the index, and when it was written: git takes files that changed at
// that moment for ones that it has to read.
func (x *lockedIndex) makeCopy() error {
	in, err := os.Open(x.file)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(x.file), "ralph-index-")
	if err != nil {
		return err
	}
	x.copy = out.Name()
	_, err = io.Copy(out, in)
	info, statErr := in.Stat()
	if err := errors.Join(err, statErr, out.Close()); err != nil {
		return err
	}
	return os.Chtimes(x.copy, info.ModTime(), info.ModTime())
}

// replace puts the copy in the place of the index and lets go of it.
func (x *lockedIndex) replace() error {
	if err := errors.Join(os.Chmod(x.copy, x.mode), os.Rename(x.copy, x.lock)); err != nil {
		return err
	}
	if err := os.Rename(x.lock, x.file); err != nil {
		return err
	}
	x.copy, x.lock = "", ""
	return nil
}

// release lets go of the index as it was. After replace there is nothing to do.
func (x *lockedIndex) release() error {
	var all []error
	for _, file := range []string{x.copy, x.lock} {
		if file == "" {
			continue
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = append(all, err)
		}
	}
	return errors.Join(all...)
}
