//go:build unix

package git

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// isOurs tells whether a file belongs to this user. For root, who may have come by
// sudo, so do the files of that user.
func isOurs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	owner := strconv.Itoa(int(stat.Uid))
	return owner == strconv.Itoa(os.Geteuid()) || os.Geteuid() == 0 && owner == os.Getenv("SUDO_UID")
}
