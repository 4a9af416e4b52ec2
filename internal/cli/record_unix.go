//go:build unix

package cli

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// noFollow keeps a link from leading elsewhere, and a pipe from being waited for.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// checkOwn refuses what somebody else can write, or a file that has another name.
func checkOwn(info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || int(stat.Uid) != os.Geteuid():
		return errors.New("it belongs to another user")
	case info.Mode().Perm()&0o022 != 0:
		return errors.New("others can write it")
	case info.Mode().IsRegular() && stat.Nlink > 1:
		return errors.New("it has another name, a hard link")
	case !info.Mode().IsRegular() && !info.IsDir():
		return errors.New("it is not a regular file")
	}
	return nil
}
