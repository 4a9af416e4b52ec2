package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/rundir"
)

// after is what follows an attempt: it counts, it is made again, or the run ends.
type after struct {
	again bool
	why   string    // it is made again
	until time.Time // not before; zero: not known
	wait  bool      // some time must pass
	stop  rundir.Stop
}

// afterAttempt tells attempts that count from those that met something which has
// nothing to do with the work.
func (r *runner) afterAttempt(it *iteration) after {
	o := it.attempt.outcome
	if o.Finished {
		return r.counts()
	}
	switch o.Verdict {
	case agent.RateLimited, agent.Overloaded:
		if r.Rules.MaxWait > 0 {
			return after{again: true, wait: true, why: o.Reason, until: o.Until}
		}
		return after{stop: rundir.Stop{Status: rundir.NeedsAttention, Reason: o.Reason + "; loop.max_wait says not to wait"}}
	case agent.Unauthorised, agent.Unfunded:
		return after{stop: rundir.Stop{Status: rundir.NeedsAttention, Reason: o.Reason}}
	case agent.Empty:
		if it.empty++; it.empty <= r.Rules.EmptyRetries {
			return after{again: true, why: o.Reason}
		}
		return after{stop: rundir.Stop{Status: rundir.Failed, Reason: fmt.Sprintf("%s, %d times in a row", o.Reason, it.empty)}}
	}
	return r.counts()
}

// counts is an attempt that is an iteration: whatever was waited for is over.
func (r *runner) counts() after {
	r.waited, r.tries = 0, 0
	return after{}
}

// decide tells whether the run is over, now that the iteration is. A Stop without a
// status means that it is not.
func (r *runner) decide(it *iteration) rundir.Stop {
	o := it.attempt.outcome
	r.still = next(r.still, o.Finished && it.changed == 0)
	r.unrun = next(r.unrun, it.checked != nil && cannotBeRun(*it.checked))
	switch {
	case it.asks():
		return it.question()
	case o.Verdict == agent.BudgetSpent && !o.Finished && r.Gate.Exhausted():
		return rundir.Stop{Status: rundir.Limit, Reason: fmt.Sprintf("the budget of %v has no room for another call", r.State.Limits.MaxCostUSD)}
	}
	if reached(r.unrun, r.Rules.MaxSameError) {
		return rundir.Stop{Status: rundir.NeedsAttention, Reason: fmt.Sprintf("the validation could not be run %d times in a row: exit code %d, as of a program that is missing", r.unrun, it.checked.ExitCode)}
	}
	if reason := r.done(it); reason != "" {
		return rundir.Stop{Status: rundir.Done, Reason: reason}
	}
	return rundir.Stop{}
}

// done is why the work is done, or empty. The agent's word is where it begins;
// the validation, and the task file where there is one, must agree.
func (r *runner) done(it *iteration) string {
	if r.Rules.Validation != "" && (it.checked == nil || !it.checked.Passed) || it.brought.Refused != "" {
		return ""
	}
	claim := r.claim(it)
	switch {
	case claim == "":
		return ""
	case r.Rules.Validation == "":
		return claim + "; there is no validation command to check it"
	}
	return claim + ", and the validation passes"
}

// claim is on what grounds the work may be done.
func (r *runner) claim(it *iteration) string {
	if list := it.update.List; list != nil {
		if it.update.Problem == nil && list.Done() {
			passing, _ := list.Count()
			if passing == 1 {
				return "the one story passes"
			}
			return fmt.Sprintf("all %d stories pass", passing)
		}
		return "" // the tag alone is not believed while a story is open
	}
	switch {
	case it.attempt.outcome.Marker.Kind == agent.CompleteMarker:
		return "the agent says that all is done"
	case reached(r.still, r.Rules.IdleThreshold):
		return fmt.Sprintf("nothing changed in %d iterations", r.still)
	}
	return ""
}

// coolDown lets the breaker have its say after an iteration that did not end the
// run, and waits if it opens.
func (r *runner) coolDown(ctx context.Context, it *iteration, stop rundir.Stop) (rundir.Stop, error) {
	if stop.Status != "" {
		return stop, nil
	}
	before := r.breaker.state
	trip, final := r.breaker.take(it.sign())
	switch {
	case trip == "" && before == halfOpen:
		r.note(rundir.EventBreaker, it.n, rundir.Breaker{State: string(closed), Why: "the try succeeded"})
		return stop, nil
	case trip == "":
		return stop, nil
	}
	r.note(rundir.EventBreaker, it.n, rundir.Breaker{State: string(open), Why: trip})
	if final {
		return rundir.Stop{Status: rundir.NeedsAttention, Reason: trip}, nil
	}
	why, until := "the breaker is open: "+trip, time.Now().Add(r.Rules.CoolDown)
	if stop := r.tooLate(why, until); stop.Status != "" {
		return stop, nil
	}
	stop, err := r.sleep(ctx, it.n, why, until)
	if err == nil && stop.Status == "" {
		r.breaker.tryAgain()
		r.note(rundir.EventBreaker, it.n, rundir.Breaker{State: string(halfOpen), Why: "one more try"})
	}
	return stop, err
}
