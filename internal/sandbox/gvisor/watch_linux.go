package gvisor

import (
	"fmt"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

const (
	// memoryInterval bounds how far a sandbox can run past its memory limit: a
	// guest touches about a gigabyte of new memory in a quarter of a second.
	memoryInterval = 20 * time.Millisecond
	// diskInterval is longer because counting looks at every process.
	diskInterval = 100 * time.Millisecond
)

// watch holds the sandbox to its limits on memory and disk from outside. gVisor
// has no total of its own, and control groups need root; the kernel's counters
// for the sandbox's processes are there for every user.
func (b *box) watch(p *processes) {
	memory := newTicker(b.spec.Limits.Memory > 0, memoryInterval)
	disk := newTicker(b.spec.Limits.Disk > 0, diskInterval)
	use := newDiskUse(b.spec, p.sentry)
	defer memory.Stop()
	defer disk.Stop()
	for {
		select {
		case <-b.ended:
			return
		case <-memory.C:
			b.enforce("memory", p.memory(), b.spec.Limits.Memory)
		case <-disk.C:
			b.enforce("disk", max(p.written(), use.taken()), b.spec.Limits.Disk)
		}
	}
}

func (b *box) enforce(limit string, used, allowed int64) {
	if used > allowed {
		b.end(&sandbox.LimitError{Limit: limit, Value: fmt.Sprintf("%d MiB", allowed>>20)})
	}
}

// newTicker returns a ticker that never ticks when it is not wanted.
func newTicker(wanted bool, interval time.Duration) *time.Ticker {
	if !wanted {
		interval = time.Duration(1<<63 - 1)
	}
	return time.NewTicker(interval)
}
