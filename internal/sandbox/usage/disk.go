// Package usage measures from outside what a sandbox takes of its host, where the
// kernel keeps no count of it for engines to read.
//
// It measures on Linux. Elsewhere it finds nothing, so an engine must not promise
// a limit on the strength of it.
package usage

import (
	"context"
	"io/fs"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// Restraint is how many times longer than a measurement the pause after it should
// be, when a guest can make the measurement long.
const Restraint = 20

// inodeCost is what a file counts at least: file systems have a number of files,
// too, that can be used up.
const inodeCost = 4096

// Disk finds disk that is taken without being written: space that is only
// reserved, and the folders and entries of many small files. The kernel counts
// those for nobody. As long as the file system has not lost more free space
// than the limit, there is nothing to look for; when it has, it may still have
// been somebody else, so the files that changed since the start are added up.
type Disk struct {
	unnamed func() int64
	limit   int64
	since   time.Time
	mounts  map[string]freeSpace // writable mounts, with what was free at the start
	next    time.Time            // not before: adding up takes time
}

// NewDisk looks at the writable mounts of a sandbox that starts now. No walk finds
// the files that the sandbox holds open but that have no name any more: unnamed
// returns how many bytes those take, and may be nil.
func NewDisk(spec sandbox.Spec, unnamed func() int64) *Disk {
	if unnamed == nil {
		unnamed = func() int64 { return 0 }
	}
	d := &Disk{unnamed: unnamed, limit: spec.Limits.Disk, since: time.Now(), mounts: map[string]freeSpace{}}
	for _, m := range spec.Mounts {
		if !m.ReadOnly {
			d.mounts[m.Source] = freeOf(m.Source)
		}
	}
	return d
}

// Taken returns how much disk the sandbox takes, in bytes, or 0 when that cannot
// be over the limit or was found out a moment ago. It is for one goroutine.
func (d *Disk) Taken(ctx context.Context) int64 {
	if !d.spaceIsLost() || time.Now().Before(d.next) {
		return 0
	}
	began := time.Now()
	total := d.unnamed()
	for dir := range d.mounts {
		total += changedFiles(ctx, dir, d.since)
	}
	d.next = time.Now().Add(Restraint * time.Since(began))
	return total
}

func (d *Disk) spaceIsLost() bool {
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
