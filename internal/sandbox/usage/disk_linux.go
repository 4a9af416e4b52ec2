package usage

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func freeOf(dir string) freeSpace {
	var stat unix.Statfs_t
	if unix.Statfs(dir, &stat) != nil {
		return freeSpace{}
	}
	return freeSpace{bytes: int64(stat.Bfree) * stat.Bsize, files: int64(stat.Ffree)}
}

func changedBlocks(info fs.FileInfo, since time.Time) int64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || time.Unix(stat.Ctim.Unix()).Before(since) {
		return 0
	}
	return max(stat.Blocks*512, inodeCost)
}

// Unlinked adds up the files that a process holds open but that have no name any
// more, in bytes. Files in memory have none either; they are known by their file
// system, and do not count.
func Unlinked(pid int) int64 {
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return 0
	}
	var total int64
	for _, fd := range fds {
		var stat unix.Stat_t
		var system unix.Statfs_t
		if unix.Stat(fd, &stat) != nil || stat.Nlink > 0 || stat.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		if unix.Statfs(fd, &system) == nil && system.Type != unix.TMPFS_MAGIC {
			total += stat.Blocks * 512
		}
	}
	return total
}
