package model

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/agent-loop/ralph/internal/gate/budget"
)

// A call that only calls under way stand in the way of waits for them: they
// mostly come to much less than was held, and a refusal is final to an agent.
// Calls of other processes are looked at every now and then.
const (
	longestWait = 5 * time.Minute
	lookAgain   = 200 * time.Millisecond
)

// reserve holds the worst case of a call, waiting for others to be settled if
// they may leave enough.
func (a *API) reserve(ctx context.Context, claim budget.Claim) (*budget.Hold, error) {
	patience := time.NewTimer(longestWait)
	defer patience.Stop()
	for {
		settled := a.turns.next()
		hold, err := a.config.Ledger.Reserve(ctx, claim)
		var spent *budget.SpentError
		if !errors.As(err, &spent) || !mayFit(spent) {
			return hold, err
		}
		again := time.NewTimer(lookAgain)
		select {
		case <-settled:
		case <-again.C:
		case <-patience.C:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		again.Stop()
	}
}

// mayFit tells whether the claim would fit if what is held came to nothing.
func mayFit(e *budget.SpentError) bool {
	if e.Totals.Open == 0 {
		return false
	}
	gone := e.Totals
	gone.Held = budget.Amount{}
	used := gone.Committed()
	return fits(int64(used.USD), int64(e.Asked.USD), int64(e.Caps.USD)) && fits(used.Tokens, e.Asked.Tokens, e.Caps.Tokens)
}

// fits tells whether used and asked stay within most; zero is no limit.
func fits(used, asked, most int64) bool {
	if most == 0 {
		most = math.MaxInt64
	}
	return used <= most && asked <= most-used
}

func (a *API) settled() { a.turns.pass() }

// turns wakes those who wait for a call to be settled.
type turns struct {
	mu     sync.Mutex
	change chan struct{}
}

// next returns a channel that is closed when the next call is settled.
func (t *turns) next() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.change == nil {
		t.change = make(chan struct{})
	}
	return t.change
}

func (t *turns) pass() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.change != nil {
		close(t.change)
		t.change = nil
	}
}

// percentSpent is how much of the tighter cap is gone for good, from 0 to 100.
// Without a cap it is 0.
func percentSpent(t budget.Totals, caps budget.Caps) int64 {
	t.Held = budget.Amount{}
	gone := t.Committed()
	return max(percent(int64(gone.USD), int64(caps.USD)), percent(gone.Tokens, caps.Tokens))
}

func percent(part, whole int64) int64 {
	if whole <= 0 {
		return 0
	}
	return min(100, int64(float64(part)/float64(whole)*100))
}
