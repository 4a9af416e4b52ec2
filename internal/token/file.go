package token

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// files is a folder with a file for each credential, both private to the user.
type files struct{ dir string }

func (f files) where(name string) string { return filepath.Join(f.dir, name+".json") }

// open opens the folder, having made it if it is not there.
func (f files) open() (*os.Root, error) {
	// Others may pass through the state folder, but not look into this one.
	if err := os.MkdirAll(filepath.Dir(f.dir), 0o711); err != nil {
		return nil, fmt.Errorf("creating the state folder: %w", err)
	}
	if err := os.Mkdir(f.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("creating the folder of credentials: %w", err)
	}
	before, err := os.Lstat(f.dir)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", f.dir)
	}
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, fmt.Errorf("opening the folder of credentials: %w", err)
	}
	now, err := root.Stat(".")
	if err == nil && !os.SameFile(before, now) {
		err = fmt.Errorf("%s was exchanged while it was opened", f.dir)
	}
	if err == nil {
		err = checkPrivate(now, f.dir)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

func (f files) get(_ context.Context, name string) ([]byte, error) {
	root, err := f.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	before, err := root.Lstat(name + ".json")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errNone
	case err != nil:
		return nil, err
	case !before.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", f.where(name))
	}
	file, err := root.Open(name + ".json")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	now, err := file.Stat()
	if err != nil || !os.SameFile(before, now) {
		return nil, fmt.Errorf("%s was exchanged while it was opened", f.where(name))
	}
	if err := checkPrivate(now, f.where(name)); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(file, maxRecordSize+1))
}

// put writes beside the file and then moves over it: a reader, or a crash, meets
// the old or the new one and nothing else. The caller holds the lock of name.
func (f files) put(_ context.Context, name string, data []byte) (err error) {
	root, err := f.open()
	if err != nil {
		return err
	}
	defer root.Close()
	removeUnfinished(root, name)
	temporary := unfinishedPrefix(name) + rand.Text()
	defer func() {
		if err != nil {
			_ = root.Remove(temporary)
		}
	}()
	if err := writeNew(root, temporary, data); err != nil {
		return fmt.Errorf("writing %s: %w", f.where(name), err)
	}
	if err := root.Rename(temporary, name+".json"); err != nil {
		return fmt.Errorf("writing %s: %w", f.where(name), err)
	}
	return syncFolder(root)
}

func writeNew(root *os.Root, name string, data []byte) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close())
}

// unfinishedPrefix begins the names of files that are being written. No name of
// a credential has a dot in it.
func unfinishedPrefix(name string) string { return "." + name + ".new-" }

// removeUnfinished removes what a writer left that did not get to its end.
func removeUnfinished(root *os.Root, name string) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), unfinishedPrefix(name)) {
			_ = root.Remove(e.Name())
		}
	}
}

func (f files) remove(_ context.Context, name string) error {
	root, err := f.open()
	if err != nil {
		return err
	}
	defer root.Close()
	removeUnfinished(root, name)
	err = root.Remove(name + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return errNone
	}
	if err != nil {
		return fmt.Errorf("removing %s: %w", f.where(name), err)
	}
	return syncFolder(root)
}
