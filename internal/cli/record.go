package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agent-loop/ralph/internal/lockfile"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// checkRecord refuses a place for a record that the sandbox can write: its record
// is not its own to change.
func checkRecord(flag, path string, mounts []sandbox.Mount) error {
	folder, err := realFolder(path)
	if err != nil {
		return usageError{fmt.Errorf("%s %s: %w", flag, path, err), "create the folder first"}
	}
	file := filepath.Join(folder, filepath.Base(path))
	for _, m := range mounts {
		if !m.ReadOnly && holds(m.Source, file) {
			return usageError{fmt.Errorf("%s %s: the command can write in %s, and so alter its own record", flag, path, m.Source), "choose a file outside the workspace"}
		}
	}
	return nil
}

// realFolder is the folder of a file, without links.
func realFolder(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(filepath.Dir(absolute))
}

// holds tells whether a path is the source of a mount or lies in it. It compares
// files and not names: by a bind mount, or in upper and lower case, a folder has
// several. What cannot be looked at may hold it.
func holds(source, path string) bool {
	top, err := os.Stat(source)
	if err != nil {
		return true
	}
	for {
		if info, err := os.Stat(path); err == nil && os.SameFile(top, info) {
			return true
		}
		above := filepath.Dir(path)
		if above == path {
			return false
		}
		path = above
	}
}

// openRecord opens a file to append to. One that is there already must be this
// user's own, under this name alone: a link may lead to where the sandbox can
// write, or to a file that something else obeys.
func openRecord(path string) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|noFollow, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = checkOwn(info)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, errors.Join(err, file.Close()))
	}
	return file, nil
}

// checkOwn refuses what somebody else can write, or a file that has another name.
func checkOwn(info fs.FileInfo) error {
	err := lockfile.Owned(info, 0o022)
	switch {
	case errors.Is(err, lockfile.ErrOpen):
		return errors.New("others can write it")
	case err != nil:
		return err
	case !info.Mode().IsRegular() && !info.IsDir():
		return errors.New("it is not a regular file")
	}
	return lockfile.OneName(info)
}

// makeOwnFolder creates a folder that only this user can write, or finds it.
func makeOwnFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return &fs.PathError{Op: "open", Path: path, Err: errors.New("it is not a folder")}
	}
	if err := checkOwn(info); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
