package stream

import (
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/money"
	"github.com/agent-loop/ralph/internal/rundir"
)

// TestTheViewOfARun tells the story of a run and what is seen after each step.
func TestTheViewOfARun(t *testing.T) {
	const title = "20261115-120000-k3f9q2 · claude · gvisor · "
	limits := rundir.Limits{MaxCostUSD: 10 * money.Dollar, MaxIterations: 20, MaxTimeSeconds: 8 * 3600}
	call := agent.Event{Kind: agent.ToolCall, Tool: "Bash", Input: `{"command":"go test"}`}
	r := newRecord(t)
	m := NewModel(r.ID())
	seen := 0
	for _, step := range []struct {
		after     time.Duration
		kind      string
		iteration int
		data      any
		later     time.Duration // the view is looked at
		want      []string
	}{
		{0, rundir.EventStart, 0, rundir.Start{Agent: "claude", Engine: "gvisor", Limits: limits}, time.Second,
			[]string{title + "running", "preparing (1s) · $0.00 of $10.00 · 1s of 8h"}},
		{time.Minute, rundir.EventBegin, 1, rundir.Begin{Attempt: 1}, 252 * time.Second,
			[]string{title + "running", "iteration 1/20 · working (4m12s) · $0.00 of $10.00 · 5m12s of 8h"}},
		{0, rundir.EventAgent, 1, agent.Event{Kind: agent.Text, Text: "one\ntwo\n"}, 0,
			[]string{title + "running", "iteration 1/20 · working (0s) · $0.00 of $10.00 · 1m00s of 8h", "two"}},
		{0, rundir.EventAgent, 1, call, 0,
			[]string{title + "running", "iteration 1/20 · working (0s) · $0.00 of $10.00 · 1m00s of 8h", "-> Bash go test"}},
		{0, rundir.EventAgent, 1, agent.Event{Kind: agent.Text, Text: "words"}, 0,
			[]string{title + "running", "iteration 1/20 · working (0s) · $0.00 of $10.00 · 1m00s of 8h", "-> Bash go test"}},
		{0, rundir.EventCharge, 1, rundir.Charge{Spend: rundir.Spend{CostUSD: 123 * money.Cent}}, 0,
			[]string{title + "running", "iteration 1/20 · working (0s) · $1.23 of $10.00 · 1m00s of 8h", "-> Bash go test"}},
		{0, rundir.EventFiles, 1, rundir.Files{Changed: 6}, 0,
			[]string{title + "running", "iteration 1/20 · working (0s) · $1.23 of $10.00 · 6 files changed · 1m00s of 8h", "-> Bash go test"}},
		{0, rundir.EventRequest, 0, rundir.Asked{Request: rundir.PauseRequest, By: "another process"}, 0,
			[]string{title + "running", "iteration 1/20 · working (0s) · $1.23 of $10.00 · 6 files changed · 1m00s of 8h", "-> Bash go test", "pausing after this iteration"}},
		{0, rundir.EventRequest, 0, rundir.Asked{Request: rundir.PauseRequest, By: "the terminal"}, 0,
			[]string{title + "running", "iteration 1/20 · working (0s) · $1.23 of $10.00 · 6 files changed · 1m00s of 8h", "-> Bash go test", "pausing after this iteration; Ctrl-C again ends it now"}},
		{time.Hour, rundir.EventAgentExit, 1, rundir.AgentExit{}, 0,
			[]string{title + "running", "iteration 1/20 · validating (0s) · $1.23 of $10.00 · 6 files changed · 1h01m of 8h", "-> Bash go test", "pausing after this iteration; Ctrl-C again ends it now"}},
		{0, rundir.EventStop, 0, rundir.Stop{Status: rundir.Paused}, time.Hour,
			[]string{title + "paused", "iteration 1/20 · ending · $1.23 of $10.00 · 6 files changed · 1h01m of 8h", "-> Bash go test", "pausing after this iteration"}},
		{time.Hour, rundir.EventStart, 0, rundir.Start{Agent: "claude", Engine: "gvisor", Resumed: true}, time.Minute,
			[]string{title + "running", "iteration 1 · preparing (1m00s) · $1.23 · 1h02m"}},
		{0, rundir.EventBreaker, 0, rundir.Breaker{State: "open", Why: "3 errors"}, 0,
			[]string{title + "running", "iteration 1 · preparing (0s) · $1.23 · 1h01m", "breaker open: 3 errors"}},
		{0, rundir.EventWait, 0, rundir.Wait{Why: "the breaker is open", Until: start.Add(3 * time.Hour)}, time.Minute,
			[]string{title + "running", "iteration 1 · cooling down (1m00s) · $1.23 · 1h02m", "waiting until 15:00 (58m00s): the breaker is open · breaker open: 3 errors"}},
		{0, rundir.EventBreaker, 0, rundir.Breaker{State: "closed"}, 58*time.Minute + 59*time.Second + time.Minute,
			[]string{title + "running", "iteration 1 · preparing (59s) · $1.23 · 2h00m"}},
		{0, rundir.EventWait, 0, rundir.Wait{Why: "limited", Until: start.Add(24 * time.Hour)}, 0,
			[]string{title + "running", "iteration 1 · waiting (0s) · $1.23 · 1h01m", "waiting until 2026-11-16 12:00 (21h59m): limited"}},
		{0, rundir.EventBegin, 2, rundir.Begin{Attempt: 1}, 0, []string{title + "running", "iteration 2 · working (0s) · $1.23 · 1h01m"}},
		{0, rundir.EventOutcome, 2, rundir.Outcome{Verdict: "empty", Again: true}, 0, []string{title + "running", "iteration 2 · preparing (0s) · $1.23 · 1h01m"}},
		{0, rundir.EventQuestion, 2, rundir.Question{Text: "A or B?"}, 0, []string{title + "running", "iteration 2 · preparing (0s) · $1.23 · 1h01m", "needs you: A or B?"}},
		{0, rundir.EventRequest, 0, rundir.Asked{Request: rundir.StopRequest}, 0,
			[]string{title + "running", "iteration 2 · ending (0s) · $1.23 · 1h01m", "stopping now · needs you: A or B?"}},
	} {
		r.add(step.after, step.kind, step.iteration, step.data)
		for _, e := range r.events()[seen:] {
			m.Apply(e)
			seen++
		}
		equal(t, m.View(r.now.Add(step.later), 200), step.want)
	}
}

func TestASessionThatWasKilledCountsUpToItsLastEvent(t *testing.T) {
	r := newRecord(t)
	r.add(0, rundir.EventStart, 0, rundir.Start{})
	r.add(time.Minute, rundir.EventNote, 0, rundir.Note{})
	r.add(24*time.Hour, rundir.EventStart, 0, rundir.Start{Resumed: true})
	m := NewModel("x")
	for _, e := range r.events() {
		m.Apply(e)
	}
	if got := m.View(r.now.Add(time.Second), 80)[1]; !strings.HasSuffix(got, " · 1m01s") {
		t.Error(got)
	}
}

func TestTheViewFitsAnyTerminal(t *testing.T) {
	r := newRecord(t)
	r.add(0, rundir.EventStart, 0, rundir.Start{Agent: "claude", Engine: "gvisor"})
	r.add(0, rundir.EventBegin, 1, rundir.Begin{})
	r.add(0, rundir.EventAgent, 1, agent.Event{Kind: agent.ToolCall, Tool: "漢字", Input: strings.Repeat("漢字 e\u0301 ", 100)})
	m := NewModel(r.ID())
	for _, e := range r.events() {
		m.Apply(e)
	}
	for width := -1; width < 300; width++ {
		for _, line := range m.View(start, width) {
			checkSafe(t, line, max(0, width-1))
		}
	}
	if got := m.View(start, 20); len(got) != 3 || widthOf(got[0]) != 19 {
		t.Errorf("%q", got)
	}
}
