package agent

import (
	"fmt"
	"time"

	"github.com/agent-loop/ralph/internal/plaintext"
)

// Verdict is how an iteration ended.
type Verdict string

// The verdicts.
const (
	OK           Verdict = "ok"
	Failed       Verdict = "failed"
	TimedOut     Verdict = "timed-out"
	Idle         Verdict = "idle"
	RateLimited  Verdict = "rate-limited" // until a time, if that is known
	Overloaded   Verdict = "overloaded"
	Unauthorised Verdict = "unauthorised" // the credential is refused
	Unfunded     Verdict = "unfunded"     // the account has no money left
	BudgetSpent  Verdict = "budget-spent" // ours is
	Empty        Verdict = "empty"        // it says that all is well, and nothing else
	Killed       Verdict = "killed"
	Denied       Verdict = "denied"       // tool calls were not permitted
	MaxTurns     Verdict = "max-turns"    // it was not done when its turns were
	ContextFull  Verdict = "context-full" // what it had to read is more than the model takes
	Refused      Verdict = "refused"      // the model would not
	Blocked      Verdict = "blocked"      // it needs help
	Undecided    Verdict = "undecided"    // it asks for a decision
)

// Outcome is a verdict with its reason.
type Outcome struct {
	Verdict  Verdict
	Until    time.Time // when a limit ends, if that is known
	Reason   string    // for people; hostile text in it was made safe
	Finished bool      // the agent came to a good end of its own, whatever the gate saw
	Marker   Marker    // what the last words ask of ralph
}

// maxReason is how many columns of a reason are kept.
const maxReason = 300

// Exit is how the agent's process ended, and by whose will.
type Exit struct {
	Code     int
	Signal   string // that ended it; empty if none did
	Stopped  bool   // a person or the loop stopped it
	TimedOut bool   // it took longer than it may
	Idle     bool   // it said nothing for too long
	// Lingered says that it was ended because it did not exit after its result,
	// which holds nevertheless.
	Lingered bool
}

// Gate is what the gate saw and what still holds.
type Gate struct {
	Limited      bool
	LimitedUntil time.Time
	Overloaded   bool
	Unauthorised bool
	Unfunded     bool
	BudgetSpent  bool
}

// Outcome tells how an iteration ended, by structure alone: what we did, what the
// gate saw, how the process ended, and last what the agent said.
func (a Agent) Outcome(exit Exit, gate Gate, s *Summary, tags Tags) Outcome {
	said := a.said(exit, s, tags)
	outcome := said
	if exit.Stopped {
		outcome = Outcome{Verdict: Killed, Reason: "it was stopped"}
	} else if saw, ok := gate.verdict(); ok {
		outcome = saw
	} else if exit.TimedOut {
		outcome = Outcome{Verdict: TimedOut, Reason: "it took longer than it may"}
	} else if exit.Idle {
		outcome = Outcome{Verdict: Idle, Reason: "it said nothing for too long"}
	}
	outcome.Finished = said.Finished
	outcome.Marker = said.Marker
	outcome.Reason = plaintext.Line(outcome.Reason, maxReason)
	return outcome
}

func (g Gate) verdict() (Outcome, bool) {
	switch {
	case g.BudgetSpent:
		return Outcome{Verdict: BudgetSpent, Reason: "a model call did not fit into the budget"}, true
	case g.Unauthorised:
		return Outcome{Verdict: Unauthorised, Reason: "the model API refuses the credential"}, true
	case g.Unfunded:
		return Outcome{Verdict: Unfunded, Reason: "the account has no money left"}, true
	case g.Limited:
		return Outcome{Verdict: RateLimited, Until: g.LimitedUntil, Reason: "the model API limits the account"}, true
	case g.Overloaded:
		return Outcome{Verdict: Overloaded, Reason: "the model API is overloaded"}, true
	}
	return Outcome{}, false
}

// said is the outcome by the process and its output.
func (a Agent) said(exit Exit, s *Summary, tags Tags) Outcome {
	if exit.Lingered && s.End != nil {
		exit = Exit{}
	}
	if killed, ok := exit.killed(); ok && (s.End == nil || exit.Signal != "") {
		return killed
	}
	o := a.judge(s)
	if exit.Code != 0 && (o.Verdict == OK || o.Verdict == Empty) {
		o = Outcome{Verdict: Failed, Reason: fmt.Sprintf("it exited with %d", exit.Code)}
	}
	if o.Verdict == Failed && a.Name == "gemini" {
		o = geminiExit(exit.Code, o)
	}
	if o.Verdict != OK {
		return o
	}
	o.Finished = true
	o.Marker = tags.Find(s.Final())
	o.Verdict, o.Reason = o.Marker.verdict()
	return o
}

// verdict is that on an agent which came to a good end with these last words.
func (m Marker) verdict() (Verdict, string) {
	switch m.Kind {
	case BlockedMarker:
		return Blocked, m.Text
	case DecideMarker:
		return Undecided, m.Text
	}
	return OK, ""
}

// OverTheGate is the outcome without what the gate saw, if the agent came to a good
// end all the same: it got over a limit, or did not need what was refused.
func (o Outcome) OverTheGate() Outcome {
	switch o.Verdict {
	case RateLimited, Overloaded, Unauthorised, Unfunded, BudgetSpent:
		if o.Finished {
			o.Verdict, o.Reason = o.Marker.verdict()
			o.Reason = plaintext.Line(o.Reason, maxReason)
		}
	}
	return o
}

// killed tells whether a signal ended the process; shells and agents that catch
// one say so with their exit code.
func (e Exit) killed() (Outcome, bool) {
	switch {
	case e.Signal != "":
		return Outcome{Verdict: Killed, Reason: "it was killed: " + e.Signal}, true
	case e.Code == 129 || e.Code == 130 || e.Code == 137 || e.Code == 143:
		return Outcome{Verdict: Killed, Reason: fmt.Sprintf("it was killed by signal %d", e.Code-128)}, true
	}
	return Outcome{}, false
}
