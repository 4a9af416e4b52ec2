package gvisor

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// diskUse finds disk that is taken without being written: space that is only
// reserved, and the folders and entries of many small files. The kernel counts
// those for nobody. As long as the file system has not lost more free space
// than the limit, there is nothing to look for; when it has, it may still have
// been somebody else, so the files that changed since the start are added up.
type diskUse struct {
	sentry int
	limit  int64
	since  time.Time
	mounts map[string]freeSpace // writable mounts, with what was free at the start
	next   time.Time            // not before: adding up takes time
}

// inodeCost is what a file counts at least: file systems have a number of files,
// too, that can be used up.
const inodeCost = 4096

// restraint is how many times longer than adding up the pause after it is.
const restraint = 20

func newDiskUse(spec sandbox.Spec, sentry int) *diskUse {
	d := &diskUse{sentry: sentry, limit: spec.Limits.Disk, since: time.Now(), mounts: map[string]freeSpace{}}
	for _, m := range spec.Mounts {
		if !m.ReadOnly {
			d.mounts[m.Source] = freeOf(m.Source)
		}
	}
	return d
}

// taken returns how much disk the sandbox takes, or 0 when that cannot be over
// the limit.
func (d *diskUse) taken(ctx context.Context) int64 {
	if !d.spaceIsLost() || time.Now().Before(d.next) {
		return 0
	}
	began := time.Now()
	total := unlinkedFiles(d.sentry)
	for dir := range d.mounts {
		total += changedFiles(ctx, dir, d.since)
	}
	d.next = time.Now().Add(restraint * time.Since(began))
	return total
}

func (d *diskUse) spaceIsLost() bool {
	for dir, start := range d.mounts {
		now := freeOf(dir)
		if start.bytes-now.bytes > d.limit || (start.files-now.files)*inodeCost > d.limit {
			return true
		}
	}
	return false
}

// freeSpace is what a file system has left.
type freeSpace struct{ bytes, files int64 }

func freeOf(dir string) freeSpace {
	var stat unix.Statfs_t
	if unix.Statfs(dir, &stat) != nil {
		return freeSpace{}
	}
	return freeSpace{bytes: int64(stat.Bfree) * stat.Bsize, files: int64(stat.Ffree)}
}

// changedFiles adds up the disk of everything below dir that changed since a
// time.
func changedFiles(ctx context.Context, dir string, since time.Time) int64 {
	var total int64
	_ = sandbox.Walk(ctx, dir, sandbox.Visitor{Visit: func(_ string, info fs.FileInfo) (bool, error) {
		total += changedBlocks(info, since)
		return true, nil
	}})
	return total
}

func changedBlocks(info fs.FileInfo, since time.Time) int64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || time.Unix(stat.Ctim.Unix()).Before(since) {
		return 0
	}
	return max(stat.Blocks*512, inodeCost)
}

// unlinkedFiles adds up the files that the sentry holds open for the guest but
// that have no name any more. Files in memory have none either; they are known
// by their file system.
func unlinkedFiles(sentry int) int64 {
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", sentry))
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
