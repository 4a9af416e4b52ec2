package loop

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/agent-loop/ralph/internal/rundir"
)

const (
	// firstWait and longestWait bound how long the loop waits for a provider that
	// does not say how long; each wait is twice the one before.
	firstWait   = 15 * time.Second
	longestWait = 15 * time.Minute
	// margin is added to what a provider says, for clocks that differ.
	margin = time.Second
	// waitStep is how often a wait looks at the clock, and at what people want.
	waitStep = time.Second
)

// wait lets the time pass that an attempt was told to wait. Nothing is counted.
func (r *runner) wait(ctx context.Context, n int, a after) (rundir.Stop, error) {
	if !a.wait {
		return r.stopIfPaused(), ctx.Err()
	}
	until := r.waitUntil(a.until, time.Now())
	pause := time.Until(until)
	if pause > r.Rules.MaxWait-r.waited { // not the sum, which could run over
		return rundir.Stop{Status: rundir.NeedsAttention, Reason: fmt.Sprintf("%s until %s, longer than loop.max_wait allows", a.why, clock(until))}, nil
	}
	r.waited += pause
	if stop := r.tooLate(a.why, until); stop.Status != "" {
		return stop, nil
	}
	return r.sleep(ctx, n, a.why, until)
}

// waitUntil is when to try again, given what was said about it. That holds the
// first time. Who says it again, or names a time that is past, is given the time
// of one who says nothing, at least: nothing is counted here, so that nothing else
// would end the trying.
func (r *runner) waitUntil(told, now time.Time) time.Time {
	first := r.tries == 0
	own := now.Add(r.backoff())
	if first && told.After(now) || told.After(own) {
		return told.Add(margin)
	}
	return own
}

// tooLate ends the run if its time is over before a wait is.
func (r *runner) tooLate(why string, until time.Time) rundir.Stop {
	if r.State.Limits.MaxTimeSeconds > 0 && time.Until(until) > r.timeLeft() {
		return rundir.Stop{Status: rundir.Limit, Reason: fmt.Sprintf("%s until %s, when the run's time is over", why, clock(until))}
	}
	return rundir.Stop{}
}

func clock(t time.Time) string { return t.Local().Format(time.DateTime) }

// backoff is how long to wait this time when nobody says.
func (r *runner) backoff() time.Duration {
	pause := min(firstWait<<min(r.tries, 20), longestWait)
	r.tries++
	return pause + rand.N(pause/4) // so that many runs do not come back at once
}

// sleep waits until a time, or until a person wants something else.
func (r *runner) sleep(ctx context.Context, n int, why string, until time.Time) (rundir.Stop, error) {
	r.note(rundir.EventWait, n, rundir.Wait{Why: why, Until: until})
	r.step("waiting")
	began, most := time.Now(), time.Until(until)
	for {
		left := left(until, time.Now(), most-time.Since(began))
		if stop := r.stopIfPaused(); stop.Status != "" || left <= 0 {
			return stop, ctx.Err()
		}
		r.beat()
		select {
		case <-ctx.Done():
			return rundir.Stop{}, context.Cause(ctx)
		case <-time.After(min(left, waitStep)):
		}
	}
}

// left is how much of a wait is left: until the wall clock shows a time, which it
// does sooner if it jumps ahead, but no longer than on the clock that does not jump.
func left(until, now time.Time, most time.Duration) time.Duration {
	return min(until.Round(0).Sub(now.Round(0)), most)
}

// stopIfPaused ends a run in which nothing is under way.
func (r *runner) stopIfPaused() rundir.Stop {
	if r.paused() {
		return rundir.Stop{Status: rundir.Paused, Reason: "paused by " + r.askedBy()}
	}
	return rundir.Stop{}
}
