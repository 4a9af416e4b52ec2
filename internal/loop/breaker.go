package loop

import (
	"fmt"

	"github.com/agent-loop/ralph/internal/agent"
)

// breakerState is whether the breaker lets iterations pass.
type breakerState string

// The states.
const (
	closed   breakerState = "closed"    // they pass
	open     breakerState = "open"      // none passes until it has cooled down
	halfOpen breakerState = "half-open" // one passes, to see
)

// breaker ends a run that gets nowhere. It is a pure machine: iterations go in,
// and out comes whether the next one may be made.
type breaker struct {
	rules Rules
	state breakerState

	errors     int // in a row
	same       int // errors in a row with the same reason
	last       string
	noProgress int
	denials    int
}

// sign is what an iteration means to the breaker.
type sign struct {
	failed   bool
	reason   string
	progress bool
	denied   bool
}

func (it *iteration) sign() sign {
	o := it.attempt.outcome
	s := sign{
		reason:   string(o.Verdict) + ": " + o.Reason,
		progress: it.changed > 0 || len(it.update.Changes) > 0,
		denied:   o.Verdict == agent.Denied,
	}
	switch o.Verdict {
	case agent.Failed, agent.TimedOut, agent.Idle, agent.Killed, agent.Refused, agent.BudgetSpent:
		s.failed = !o.Finished
	}
	return s
}

// take counts an iteration. Trip is why the breaker opens; empty: it does not.
// Final means that waiting will not help.
func (b *breaker) take(s sign) (trip string, final bool) {
	b.count(s)
	if b.state == halfOpen && s.failed {
		return fmt.Sprintf("the try after the pause failed as well: %s", s.reason), true
	}
	if !s.failed {
		b.state = closed
	}
	return b.verdict()
}

func (b *breaker) count(s sign) {
	b.errors, b.denials, b.noProgress = next(b.errors, s.failed), next(b.denials, s.denied), next(b.noProgress, !s.progress)
	b.same = next(b.same, s.failed && (s.reason == b.last || b.same == 0))
	if s.failed {
		if s.reason != b.last {
			b.same = 1
		}
		b.last = s.reason
	}
}

// next counts on, or begins again.
func next(count int, again bool) int {
	if again {
		return count + 1
	}
	return 0
}

func (b *breaker) verdict() (trip string, final bool) {
	switch {
	case reached(b.denials, b.rules.MaxDenials):
		return fmt.Sprintf("tool calls were denied in %d iterations in a row", b.denials), true
	case reached(b.same, b.rules.MaxSameError):
		return fmt.Sprintf("%d iterations in a row failed in the same way: %s", b.same, b.last), b.rules.CoolDown == 0
	case reached(b.errors, b.rules.MaxErrors):
		return fmt.Sprintf("%d iterations in a row failed; the last: %s", b.errors, b.last), b.rules.CoolDown == 0
	case reached(b.noProgress, b.rules.MaxNoProgress):
		return fmt.Sprintf("%d iterations in a row changed nothing", b.noProgress), true
	}
	return "", false
}

func reached(count, limit int) bool { return limit > 0 && count >= limit }

// tryAgain lets one iteration pass.
func (b *breaker) tryAgain() { b.state, b.errors, b.same, b.noProgress = halfOpen, 0, 0, 0 }
