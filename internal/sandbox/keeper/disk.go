package keeper

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox/usage"
)

const (
	// diskInterval is how often the disk is looked at.
	diskInterval = 100 * time.Millisecond
	// measureTime is how long the keeper may take to count.
	measureTime = 10 * time.Second
)

// holdDisk keeps the limit on what is written to mounts, from outside: what
// counts is what the file system has lost.
func (b *Box) holdDisk() {
	limit := b.start.Spec.Limits.Disk
	if limit <= 0 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-b.Ended()
		cancel()
	}()
	disk := usage.NewDisk(b.start.Spec, b.unlinked)
	go b.Hold(diskInterval, "disk", limit, func() (int64, error) { return disk.Taken(ctx), nil })
}

// unlinked asks the keeper for files without a name, which nobody outside can
// find. Processes that hide what they hold are taken to hold all that is missing.
func (b *Box) unlinked() int64 {
	id, answer := b.measures.ask()
	if b.control.send(order{Measure: &measureOrder{id}}) != nil {
		return 0 // it is over
	}
	select {
	case m := <-answer:
		if m.Hidden {
			return math.MaxInt64 / 2
		}
		return max(m.Unlinked, 0)
	case <-b.Ended():
		return 0
	case <-time.After(measureTime):
		return math.MaxInt64 / 2
	}
}

// measures are questions to the keeper that have no answer yet.
type measures struct {
	mu   sync.Mutex
	last uint64
	open map[uint64]chan measuredReply
}

func (m *measures) ask() (uint64, <-chan measuredReply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open == nil {
		m.open = map[uint64]chan measuredReply{}
	}
	m.last++
	c := make(chan measuredReply, 1)
	m.open[m.last] = c
	return m.last, c
}

func (m *measures) settle(r measuredReply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.open[r.ID]; c != nil {
		delete(m.open, r.ID)
		c <- r
	}
}
