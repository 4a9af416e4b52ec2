package project

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// File is one to be created, directly in the project's folder.
type File struct {
	Name string
	Data []byte
}

// Create adds files to a folder: all of them, or after an error none. Each is
// written beside its place, and put there whole. One that exists, also as a
// link that leads nowhere, is an error that is fs.ErrExist, and is not touched.
func Create(root *os.Root, files []File) (err error) {
	var staged, placed []string
	defer func() {
		if err != nil {
			err = errors.Join(err, removeAll(root, placed))
		}
		err = errors.Join(err, removeAll(root, staged))
	}()
	for _, f := range files {
		name := "." + f.Name + ".ralph-" + rand.Text()
		staged = append(staged, name)
		if err := stage(root, name, f.Data); err != nil {
			return fmt.Errorf("writing %s: %w", f.Name, err)
		}
	}
	for i, f := range files {
		if err := place(root, staged[i], f.Name); err != nil {
			return fmt.Errorf("creating %s: %w", f.Name, err)
		}
		placed = append(placed, f.Name)
	}
	return nil
}

func removeAll(root *os.Root, names []string) error {
	var errs []error
	for _, name := range names {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("cleaning up: %w", err))
		}
	}
	return errors.Join(errs...)
}

func stage(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// place gives a file its name. A link cannot replace what is there; only where a
// file system knows no links is the file renamed, after a look.
func place(root *os.Root, from, to string) error {
	err := root.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := root.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fs.ErrExist, err)
	}
	return root.Rename(from, to)
}
