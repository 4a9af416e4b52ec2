//go:build unix

package workspace

import (
	"io/fs"
	"syscall"
)

// linkCount finds files that have another name outside the workspace. Package
// managers link files from a store that all projects share; what is written to
// them here changes there.
type linkCount struct{ missing map[inode]uint64 }

type inode struct{ device, number uint64 }

// see counts one name of a file.
func (l *linkCount) see(info fs.FileInfo) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || stat.Nlink < 2 {
		return
	}
	if l.missing == nil {
		l.missing = map[inode]uint64{}
	}
	file := inode{uint64(stat.Dev), stat.Ino} //nolint:unconvert // signed on some systems
	if _, seen := l.missing[file]; !seen {
		l.missing[file] = uint64(stat.Nlink) //nolint:unconvert // narrower on some systems
	}
	l.missing[file]--
}

// outside is the number of files with names that were not seen.
func (l *linkCount) outside() int {
	n := 0
	for _, missing := range l.missing {
		if missing > 0 {
			n++
		}
	}
	return n
}
