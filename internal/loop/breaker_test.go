package loop

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/rundir"
)

// signs are what iterations mean, one letter each: A and B fail for two reasons, o
// works, n changes nothing, d is denied.
func signs(letter rune) sign {
	switch letter {
	case 'A', 'B':
		return sign{failed: true, reason: string(letter), progress: true}
	case 'n':
		return sign{}
	case 'd':
		return sign{denied: true, progress: true}
	}
	return sign{progress: true}
}

// The breaker as a machine. A "!" in the want is a trip that some time may mend, an
// "X" one that it may not; "|" among the signs is where that time has passed.
func TestBreakerMachine(t *testing.T) {
	rules := Rules{MaxErrors: 4, MaxSameError: 3, MaxNoProgress: 3, MaxDenials: 2, CoolDown: time.Minute}
	never := rules
	never.CoolDown = 0
	for name, tt := range map[string]struct {
		rules  Rules
		signs  string
		want   string
		reason string
	}{
		"all is well":                {rules, "oooooo", "......", ""},
		"the same error":             {rules, "AAA", "..!", "failed in the same way: A"},
		"other errors between":       {rules, "AABA", "...!", "4 iterations in a row failed; the last: A"},
		"a success between":          {rules, "AAoAAoAA", "........", ""},
		"an error is no success":     {rules, "AABB", "...!", "4 iterations"},
		"no progress":                {rules, "nnn", "..X", "3 iterations in a row changed nothing"},
		"progress between":           {rules, "nnonn", ".....", ""},
		"denied":                     {rules, "dd", ".X", "denied in 2 iterations"},
		"denied, then not":           {rules, "dod", "...", ""},
		"half open, then closed":     {rules, "AAA|oAA", "..!...", ""},
		"half open, and again":       {rules, "AAA|A", "..!X", "the try after the pause failed as well: A"},
		"half open, another error":   {rules, "AAA|B", "..!X", "failed as well: B"},
		"closed, and opened again":   {rules, "AAA|oAAA", "..!...!", "failed in the same way"},
		"half open without a change": {rules, "AAA|nnn", "..!..X", "changed nothing"},
		"no cool-down":               {never, "AAA", "..X", "in the same way"},
		"no limits":                  {Rules{}, "AAAAAAAAnnnnnnnndddd", "....................", ""},
		"errors alone":               {Rules{MaxErrors: 2, CoolDown: 1}, "AB", ".!", "2 iterations in a row failed; the last: B"},
	} {
		t.Run(name, func(t *testing.T) {
			b, got, reason := breaker{rules: tt.rules, state: closed}, "", ""
			for _, letter := range tt.signs {
				if letter == '|' {
					b.tryAgain()
					continue
				}
				trip, final := b.take(signs(letter))
				switch {
				case final:
					got += "X"
				case trip != "":
					got += "!"
				default:
					got += "."
				}
				reason = trip
			}
			if got != tt.want || !strings.Contains(reason, tt.reason) || (reason == "") != (tt.reason == "") {
				t.Errorf("got %s %q, want %s %q", got, reason, tt.want, tt.reason)
			}
		})
	}
}

// Which outcomes are failures to the breaker.
func TestBreakerSigns(t *testing.T) {
	for verdict, failed := range map[agent.Verdict]bool{
		agent.OK: false, agent.MaxTurns: false, agent.ContextFull: false, agent.Denied: false, agent.Blocked: false, agent.Undecided: false,
		agent.Failed: true, agent.TimedOut: true, agent.Idle: true, agent.Killed: true, agent.Refused: true, agent.BudgetSpent: true,
	} {
		it := &iteration{attempt: attempt{outcome: agent.Outcome{Verdict: verdict}}}
		if got := it.sign().failed; got != failed {
			t.Errorf("%s: failed is %v", verdict, got)
		}
		it.attempt.outcome.Finished = true
		if it.sign().failed {
			t.Errorf("%s counts as failed though the agent came to a good end", verdict)
		}
	}
}

// The breaker in a run: it opens, cools down, lets one try, and ends the run or
// closes again. All of that is in the record.
func TestBreakerInARun(t *testing.T) {
	for name, tt := range map[string]struct {
		acts       []act
		status     rundir.Status
		iterations int
		states     string
		pause      time.Duration
	}{
		"mended": {[]act{exits(1), exits(1), says(complete)}, rundir.Done, 3, "open half-open", 10 * time.Minute},
		"closes": {[]act{exits(1), exits(1), says("more"), exits(1), says(complete)}, rundir.Done, 5, "open half-open closed", 10 * time.Minute},
		"not":    {[]act{exits(1)}, rundir.NeedsAttention, 3, "open half-open open", 10 * time.Minute},
		"twice":  {[]act{exits(1), exits(1), says("more"), exits(1), exits(1), says(complete)}, rundir.Done, 6, "open half-open closed open half-open", 20 * time.Minute},
	} {
		bubble(t, name, func(t *testing.T) {
			r := newRig(t, tt.acts...)
			r.loop.Rules.MaxErrors, r.loop.Rules.CoolDown = 2, 10*time.Minute
			began := time.Now()
			r.expect(tt.status, "", tt.iterations)
			if took := time.Since(began); took < tt.pause || took > tt.pause+5*time.Second {
				t.Errorf("it took %v, want %v", took, tt.pause)
			}
			var states []string
			for _, b := range events[rundir.Breaker](r, rundir.EventBreaker) {
				states = append(states, b.State)
			}
			if got := strings.Join(states, " "); got != tt.states {
				t.Errorf("states %q, want %q", got, tt.states)
			}
			for i, b := range events[rundir.Begin](r, rundir.EventBegin) {
				if want := i == 2 || name == "twice" && i == 5; b.HalfOpen != want {
					t.Errorf("attempt %d: half open is %v", i+1, b.HalfOpen)
				}
			}
		})
	}
}

// A cool-down that lasts longer than the run may is not waited for.
func TestCoolDownBeyondTheRunsTime(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		r := newRig(t, exits(1))
		r.loop.Rules.MaxErrors, r.loop.Rules.CoolDown = 1, time.Hour
		r.loop.State.Limits.MaxTimeSeconds = 60
		began := time.Now()
		r.expect(rundir.Limit, "the breaker is open", 1)
		if took := time.Since(began); took > time.Second {
			t.Errorf("it waited %v", took)
		}
	})
}

func TestNoProgress(t *testing.T) {
	r := newRig(t, says("thinking"))
	r.loop.Rules.MaxNoProgress = 3
	r.expect(rundir.NeedsAttention, "3 iterations in a row changed nothing", 3)
	for _, it := range r.iterations() {
		if it.ChangedFiles != 0 {
			t.Errorf("%+v", it)
		}
	}
	r = newRig(t)
	r.script(r.works())
	r.loop.Rules.MaxNoProgress, r.loop.State.Limits.MaxIterations = 2, 4
	r.expect(rundir.Limit, "4 iterations", 4)
	for i, it := range r.iterations() {
		if it.ChangedFiles != 1 {
			t.Errorf("iteration %d: %s", i+1, fmt.Sprint(it.ChangedFiles))
		}
	}
}
