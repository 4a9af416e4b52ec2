package loop

import (
	"context"
	"time"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/rundir"
)

// watchInterval is how often the watchdog looks.
const watchInterval = 100 * time.Millisecond

// cause is why the loop ended an agent.
type cause string

// The causes.
const (
	timedOut     cause = "it took longer than it may"
	outOfTime    cause = "the time of the run is over"
	idle         cause = "it said nothing for too long"
	lingered     cause = "it did not exit after its result"
	tooManyTurns cause = "it took more turns than it may"
)

func (c cause) Error() string { return string(c) }

// exit is how the process ended, given its code.
func (c cause) exit(code int) agent.Exit {
	e := agent.Exit{Code: code}
	switch c {
	case timedOut, outOfTime:
		e.TimedOut = true
	case idle:
		e.Idle = true
	case lingered:
		e.Lingered = true
	}
	return e
}

// words tell why a process ended that did not end by itself.
func (c cause) words(err error) string {
	if c == "" && err != nil {
		return err.Error()
	}
	return string(c)
}

// watchdog ends an agent that takes too long, and keeps the state fresh
// meanwhile.
type watchdog struct {
	r        *runner
	out      *output
	end      context.CancelCauseFunc
	began    time.Time
	deadline time.Duration // from the start; 0: none
	why      cause         // of the deadline
}

func (r *runner) newWatchdog(out *output, end context.CancelCauseFunc) *watchdog {
	d := &watchdog{r: r, out: out, end: end, began: time.Now(), deadline: r.Rules.IterationTimeout, why: timedOut}
	if r.State.Limits.MaxTimeSeconds > 0 {
		if left := max(r.timeLeft(), time.Nanosecond); d.deadline == 0 || left < d.deadline {
			d.deadline, d.why = left, outOfTime
		}
	}
	return d
}

// watch looks until ctx ends, and closes the channel then.
func (d *watchdog) watch(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(watchInterval)
		defer ticker.Stop()
		files := newFileCount(d.r, d.out.iteration)
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if why := d.look(time.Now()); why != "" {
					d.end(why)
					return
				}
				d.r.beat()
				files.look(ctx)
			}
		}
	}()
	return done
}

// look tells why the agent must end now, if it must.
func (d *watchdog) look(now time.Time) cause {
	rules, seen := d.r.Rules, d.out.seen()
	switch {
	case d.deadline > 0 && now.Sub(d.began) >= d.deadline:
		return d.why
	case !seen.result.IsZero() && rules.CompletionTimeout > 0 && now.Sub(seen.result) >= rules.CompletionTimeout:
		return lingered
	case seen.result.IsZero() && rules.IdleTimeout > 0 && now.Sub(seen.last) >= rules.IdleTimeout:
		return idle
	case rules.MaxTurns > 0 && !d.r.Agent.MaxTurns && seen.turns > rules.MaxTurns:
		return tooManyTurns
	}
	return ""
}

// fileCount tells how many files an iteration has changed so far. The larger the
// work, the less often it is looked at. A nil one has nothing to look at.
type fileCount struct {
	r      *runner
	n      int
	before snapshot
	last   int
	next   time.Time
}

// filesShare is the part of the time that may be spent on counting files.
const filesShare = 50

// longestLook bounds one count: the watchdog is blind meanwhile.
const longestLook = 5 * time.Second

func newFileCount(r *runner, n int) *fileCount {
	if r.Tree == nil {
		return nil
	}
	return &fileCount{r: r, n: n, before: r.Tree.last, next: time.Now().Add(time.Second)}
}

func (f *fileCount) look(ctx context.Context) {
	began := time.Now()
	if f == nil || began.Before(f.next) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, longestLook)
	defer cancel()
	now, err := f.r.Tree.scan(ctx)
	f.next = time.Now().Add(max(time.Second, filesShare*time.Since(began)))
	if err != nil {
		return // it is looked at again when the agent has ended
	}
	if changed := f.before.changes(now); changed != f.last {
		f.last = changed
		f.r.note(rundir.EventFiles, f.n, rundir.Files{Changed: changed})
	}
}
