package gvisor

import (
	"context"
	"fmt"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
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
		<-b.ended
		cancel()
	}()
	limits := b.spec.Limits
	if limits.Memory > 0 {
		if _, err := p.memory(); err != nil {
			return err
		}
		go b.hold(memoryInterval, "memory", limits.Memory, p.memory)
	}
	if limits.Disk > 0 {
		if _, err := p.written(); err != nil {
			return err
		}
		use := newDiskUse(b.spec, p.sentry)
		go b.hold(diskInterval, "disk", limits.Disk, func() (int64, error) {
			written, err := p.written()
			return max(written, use.taken(ctx)), err
		})
	}
	if limits.Memory > 0 || limits.Disk > 0 {
		go b.countGuest(p)
	}
	return nil
}

// hold measures until the sandbox is over, and ends it when it uses more than
// allowed or when that cannot be measured any more.
func (b *box) hold(interval time.Duration, limit string, allowed int64, used func() (int64, error)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-b.ended:
			return
		case <-tick.C:
		}
		n, err := used()
		switch {
		case err != nil:
			b.endUnlessOver(fmt.Errorf("keeping the %s limit: %w", limit, err))
		case n > allowed:
			b.end(&sandbox.LimitError{Limit: limit, Value: fmt.Sprintf("%d MiB", allowed>>20)})
		}
	}
}

// countGuest keeps the counts of the guest's processes fresh. It looks at every
// one, so it rests in proportion to the time that takes.
func (b *box) countGuest(p *processes) {
	pause := diskInterval
	for {
		select {
		case <-b.ended:
			return
		case <-time.After(pause):
		}
		began := time.Now()
		p.countGuest()
		pause = diskInterval + restraint*time.Since(began)
	}
}

// endUnlessOver ends a sandbox for a reason that its own end may have brought
// about, and which then does not count.
func (b *box) endUnlessOver(cause error) {
	select {
	case <-b.ended:
	case <-time.After(time.Second):
		b.end(cause)
	}
}
