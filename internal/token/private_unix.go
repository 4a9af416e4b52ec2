//go:build unix

package token

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// checkReadable is checkPrivate for a file of the user's choice: it may belong
// to root, as secrets that a service manager provides do.
func checkReadable(info fs.FileInfo, path string) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && stat.Uid == 0 && info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	return checkPrivate(info, path)
}

// syncFolder makes the renaming of a file in it last.
func syncFolder(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // some file systems cannot
		return err
	}
	return nil
}

// noBlock keeps the opening of a pipe from waiting for its other end.
const noBlock = syscall.O_NONBLOCK
