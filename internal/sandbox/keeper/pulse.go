package keeper

import (
	"fmt"
	"sync"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

const (
	// pulseInterval is how often the keeper is asked whether it is there.
	pulseInterval = 5 * time.Second
	// maxMissed is how many questions in a row may go unanswered. They are counted,
	// not timed: a ralph that was itself suspended has asked only once.
	maxMissed = 12
)

// pulse counts how many questions in a row had no answer.
type pulse struct {
	mu     sync.Mutex
	asked  uint64
	heard  uint64
	missed int
}

// next returns the number of the next question, or false when too many had no
// answer.
func (p *pulse) next() (uint64, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.heard < p.asked {
		p.missed++
	} else {
		p.missed = 0
	}
	p.asked++
	return p.asked, p.missed < maxMissed
}

func (p *pulse) answered(n uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = min(max(p.heard, n), p.asked)
}

// heartbeat ends a sandbox that no longer answers: one that somebody paused, or
// whose engine hangs. It would otherwise look like an agent that thinks.
func (b *Box) heartbeat() {
	tick := time.NewTicker(pulseInterval)
	defer tick.Stop()
	for {
		select {
		case <-b.Ended():
			return
		case <-tick.C:
		}
		n, alive := b.pulse.next()
		if !alive {
			b.End(fmt.Errorf("%w: it has not answered for %v; was it paused?", sandbox.ErrGone, maxMissed*pulseInterval))
			return
		}
		// A keeper that does not read would hold this up; its silence is noticed then.
		go func() { _ = b.control.send(order{Ping: n}) }()
	}
}
