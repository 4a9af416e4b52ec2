//go:build unix

package lockfile

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

func owned(info fs.FileInfo, forbidden fs.FileMode) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return fmt.Errorf("%w, or its owner is not known", ErrForeign)
	case int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("%w: to user %d, and user %d runs this", ErrForeign, stat.Uid, os.Geteuid())
	case info.Mode().Perm()&forbidden != 0:
		return fmt.Errorf("%w: its mode is %#o", ErrOpen, info.Mode().Perm())
	}
	return nil
}

func oneName(info fs.FileInfo) error {
	if !info.Mode().IsRegular() { // every folder has several
		return nil
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Nlink > 1 {
		return ErrLinked
	}
	return nil
}
