package stream

import (
	"fmt"
	"time"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/plaintext"
	"github.com/agent-loop/ralph/internal/rundir"
)

// tally is what the iteration under way comes to, beside what it cost.
type tally struct {
	n         int
	began     time.Time // its first attempt
	attempts  int
	files     int
	commits   int
	denied    int
	reason    string // why the last attempt was no success
	validated *bool
	now       time.Time // of the last event
}

func (t *tally) apply(e rundir.Event) {
	t.now = e.Time
	switch e.Type {
	case rundir.EventStart:
		*t = tally{now: e.Time} // what a crash left unfinished begins anew
	case rundir.EventBegin:
		t.begin(e)
	case rundir.EventFiles:
		if f, ok := decode[rundir.Files](e.Data); ok {
			t.files = f.Changed
		}
	case rundir.EventOutcome:
		if o, ok := decode[rundir.Outcome](e.Data); ok {
			t.reason = o.Reason
		}
	case rundir.EventValidation:
		if v, ok := decode[rundir.Validation](e.Data); ok && v.Outcome != rundir.Unverifiable {
			t.validated = &v.Passed
		}
	case rundir.EventImport:
		if i, ok := decode[rundir.Import](e.Data); ok {
			t.commits += len(i.Commits)
		}
	case rundir.EventGate:
		if g, ok := decode[struct {
			Allowed bool `json:"allowed"`
		}](e.Data); ok && !g.Allowed {
			t.denied++
		}
	}
}

func (t *tally) begin(e rundir.Event) {
	if t.began.IsZero() || t.n != e.Iteration {
		*t = tally{n: e.Iteration, began: e.Time, now: e.Time}
	}
	t.attempts++
	t.files, t.reason, t.validated = 0, "", nil
}

// iteration is the data of a rundir.EventIteration.
type iteration struct {
	N            int    `json:"n"`
	Outcome      string `json:"outcome"`
	rundir.Spend `json:",inline"`
}

// ends tells how an iteration went, all in one line, and begins the next tally.
func (t *tally) ends(it iteration) said {
	was := *t
	*t = tally{now: t.now}
	if was.n != it.N { // the record was not read from its beginning
		was = tally{now: t.now}
	}
	s := said{tone: bad, text: join(" · ",
		fmt.Sprintf("iteration %d ends: %s", it.N, it.Outcome)+was.why(it), was.took(), dollars(it.CostUSD),
		some(it.Tokens.Total(), scaled(it.Tokens.Total(), "")+" tokens"),
		some(int64(was.files), count(int64(was.files), "file")+" changed"),
		some(int64(was.commits), count(int64(was.commits), "commit")),
		was.validation(),
		some(int64(was.denied), fmt.Sprintf("%d denied", was.denied)),
		some(int64(was.attempts-1), count(int64(was.attempts), "attempt")))}
	if it.Outcome == string(agent.OK) {
		s.tone = good
	}
	return s
}

func (t *tally) why(it iteration) string {
	if it.Outcome == string(agent.OK) {
		return ""
	}
	return with(": ", plaintext.Line(t.reason, 200))
}

func (t *tally) took() string {
	if t.began.IsZero() {
		return ""
	}
	return span(t.now.Sub(t.began))
}

func (t *tally) validation() string {
	switch {
	case t.validated == nil:
		return ""
	case *t.validated:
		return "validated"
	}
	return "validation failed"
}

// some returns the text if there is any of it.
func some(n int64, text string) string {
	if n <= 0 {
		return ""
	}
	return text
}
