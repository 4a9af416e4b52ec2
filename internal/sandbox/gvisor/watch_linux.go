package gvisor

import (
	"context"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox/usage"
)

const (
	// memoryInterval bounds how far a sandbox can run past its memory limit: a
	// guest touches about a gigabyte of new memory in a quarter of a second.
	memoryInterval = 20 * time.Millisecond
	// diskInterval is longer: disks are slower than memory.
	diskInterval = 100 * time.Millisecond
)

// watch holds the sandbox to its limits on memory and disk from outside. gVisor
// has no total of its own, and control groups need root; the kernel's counters
// for the sandbox's processes are there for every user. Each limit has a
// goroutine of its own: adding up disk can take long. An error means that a
// limit cannot be kept.
func (b *box) watch(p *processes) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-b.Ended()
		cancel()
	}()
	limits := b.spec.Limits
	if limits.Memory > 0 {
		if _, err := p.memory(); err != nil {
			return err
		}
		go b.Hold(memoryInterval, "memory", limits.Memory, p.memory)
	}
	if limits.Disk > 0 {
		if _, err := p.written(); err != nil {
			return err
		}
		use := usage.NewDisk(b.spec, func() int64 { return usage.Unlinked(p.sentry) })
		go b.Hold(diskInterval, "disk", limits.Disk, func() (int64, error) {
			written, err := p.written()
			return max(written, use.Taken(ctx)), err
		})
	}
	if limits.Memory > 0 || limits.Disk > 0 {
		go b.countGuest(p)
	}
	return nil
}

// countGuest keeps the counts of the guest's processes fresh. It looks at every
// one, so it rests in proportion to the time that takes.
func (b *box) countGuest(p *processes) {
	pause := diskInterval
	for {
		select {
		case <-b.Ended():
			return
		case <-time.After(pause):
		}
		began := time.Now()
		p.countGuest()
		pause = diskInterval + usage.Restraint*time.Since(began)
	}
}
