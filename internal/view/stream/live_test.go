package stream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/plaintext"
	"github.com/agent-loop/ralph/internal/rundir"
)

// liveRig is a live view of a record in a terminal, with a clock that stands still
// and draws when the test says so.
type liveRig struct {
	*record
	term  *terminal
	ticks chan time.Time
	done  chan error
}

func newLiveRig(t *testing.T, ctx context.Context, from int64) *liveRig {
	rig := &liveRig{record: newRecord(t), term: newTerminal(t, 80, 24), ticks: make(chan time.Time), done: make(chan error, 1)}
	l := live{screen: screen{out: rig.term, size: rig.term.size}, reader: rig.reader(), from: from, now: func() time.Time { return start }}
	go func() { rig.done <- l.run(ctx, rig.ticks) }()
	return rig
}

// until draws until the terminal shows what is wanted.
func (r *liveRig) until(want string) {
	r.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); r.term.text() != want; {
		select {
		case r.ticks <- start:
		case err := <-r.done:
			r.t.Fatalf("it ended: %v\n%v", err, r.term)
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("got %v\nwant:\n%s", r.term, want)
		}
	}
}

func (r *liveRig) begin(n int) {
	r.add(0, rundir.EventBegin, n, rundir.Begin{Attempt: 1})
	r.add(0, rundir.EventAgent, n, agent.Event{Kind: agent.ToolCall, Tool: "Bash", Input: call})
}

const (
	liveTitle = "20261115-120000-k3f9q2 · claude · gvisor · running\n"
	liveCall  = "\n-> Bash words 漢字 words words words words words words words words words words…"
	call      = "words 漢字 words words words words words words words words words words words words 漢字 words"
)

func TestLiveDrawsInPlaceAndLeavesTheIterations(t *testing.T) {
	r := newLiveRig(t, t.Context(), 1)
	r.add(0, rundir.EventStart, 0, rundir.Start{Agent: "claude", Engine: "gvisor"})
	r.until(liveTitle + "preparing (0s) · $0.00 · 0s")
	r.begin(1)
	r.until(liveTitle + "iteration 1 · working (0s) · $0.00 · 0s" + liveCall)
	r.iterated(0, 1, "ok")
	first := start.Format("15:04:05") + " #1 iteration 1 ends: ok · 0s · $0.00\n"
	r.until(first + liveTitle + "iteration 1 · preparing (0s) · $0.00 · 0s" + liveCall)
	r.begin(2)
	r.until(first + liveTitle + "iteration 2 · working (0s) · $0.00 · 0s" + liveCall)
	if _, widest := r.term.seen(); widest != 79 {
		t.Errorf("a line reaches column %d of 80", widest)
	}
	r.iterated(0, 2, "failed")
	must(t, r.Close(), <-r.done)
	equal(t, strings.Split(r.term.text(), "\n"), []string{strings.TrimSpace(first), "12:00:00 #2 iteration 2 ends: failed · 0s · $0.00"})
}

// TestLiveSurvivesAnyWidth makes the terminal narrower and wider, which wraps and
// unwraps what is on it.
func TestLiveSurvivesAnyWidth(t *testing.T) {
	r := newLiveRig(t, t.Context(), 1)
	r.add(0, rundir.EventNote, 0, rundir.Note{})
	r.iterated(0, 1, "ok")
	r.add(0, rundir.EventStart, 0, rundir.Start{Agent: "claude", Engine: "gvisor"})
	r.begin(2)
	for _, columns := range []int{80, 20, 200, 21, 33, 2, 40, 39, 38, 17, 80} {
		r.term.resize(columns, 120)
		want := []string{"12:00:00 #1 iteration 1 ends: ok · $0.00"}
		for _, line := range []string{strings.TrimSpace(liveTitle), "iteration 2 · working (0s) · $0.00 · 0s", "-> Bash " + call} {
			want = append(want, plaintext.Line(line, columns-1))
		}
		r.until(strings.Join(want, "\n"))
		if _, widest := r.term.seen(); widest > columns-1 {
			t.Errorf("a line reaches column %d of %d", widest, columns)
		}
	}
	must(t, r.Close(), <-r.done)
	if got := r.term.text(); got != "12:00:00 #1 iteration 1 ends: ok · $0.00" {
		t.Errorf("left: %v", r.term)
	}
}

// TestLiveSurvivesAnyHeight: the cursor cannot go up to what is scrolled out.
func TestLiveSurvivesAnyHeight(t *testing.T) {
	r := newLiveRig(t, t.Context(), 1)
	r.add(0, rundir.EventStart, 0, rundir.Start{Agent: "claude", Engine: "gvisor"})
	r.begin(1)
	lines := strings.Split(liveTitle+"iteration 1 · working (0s) · $0.00 · 0s"+liveCall, "\n")
	for _, rows := range []int{1, 2, 3, 4, 5, 24} {
		r.term.resize(80, rows)
		r.until(strings.Join(lines[:min(len(lines), rows-1)], "\n"))
		r.add(0, rundir.EventFiles, 1, rundir.Files{})
	}
	must(t, r.Close(), <-r.done)
	if got := r.term.text(); got != "" {
		t.Errorf("left: %v", r.term)
	}
}

// TestLiveGoesOnWithAResumedRun: what came before counts, but is not told again.
func TestLiveGoesOnWithAResumedRun(t *testing.T) {
	r := newLiveRig(t, t.Context(), 8)
	r.add(0, rundir.EventStart, 0, rundir.Start{Agent: "claude", Engine: "gvisor"})
	r.begin(1)
	r.add(0, rundir.EventCharge, 1, rundir.Charge{Spend: rundir.Spend{CostUSD: 3e9}})
	r.iterated(0, 1, "ok")
	r.add(0, rundir.EventStart, 0, rundir.Start{Agent: "claude", Engine: "gvisor", Resumed: true})
	r.until(liveTitle + "iteration 1 · preparing (0s) · $3.00 · 0s")
}

func TestLiveTakesInWhatIsThereWhenItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := newLiveRig(t, ctx, 1)
	r.add(0, rundir.EventStart, 0, rundir.Start{Agent: "claude", Engine: "gvisor"})
	r.until(liveTitle + "preparing (0s) · $0.00 · 0s")
	r.iterated(0, 1, "ok")
	must(t, r.Sync())
	cancel()
	must(t, <-r.done)
	equal(t, strings.Split(r.term.text(), "\n"), []string{"12:00:00 #1 iteration 1 ends: ok · $0.00"})
}

func TestLiveWritesOnlyWhatIsNew(t *testing.T) {
	r := newLiveRig(t, t.Context(), 1)
	r.add(0, rundir.EventStart, 0, rundir.Start{Agent: "claude", Engine: "gvisor"})
	r.until(liveTitle + "preparing (0s) · $0.00 · 0s")
	r.ticks <- start
	before, _ := r.term.seen()
	for range 10 {
		r.ticks <- start
	}
	if after, _ := r.term.seen(); after != before {
		t.Errorf("%d writes of nothing new", after-before)
	}
}

// brokenTerminal is one that is gone.
type brokenTerminal struct{}

var errGone = errors.New("gone")

func (brokenTerminal) Write([]byte) (int, error) { return 0, errGone }

func TestLiveEndsWithItsTerminal(t *testing.T) {
	r := newRecord(t)
	r.add(0, rundir.EventStart, 0, rundir.Start{})
	size := func() (int, int) { return 0, 0 }
	if err := Live(t.Context(), brokenTerminal{}, size, r.reader(), 1); !errors.Is(err, errGone) {
		t.Errorf("got %v", err)
	}
}

// TestLiveKeepsUp writes as fast as the record takes it, while the terminal is one
// that blocks for ever: neither the writer nor the reader may wait for it.
func TestLiveKeepsUp(t *testing.T) {
	stuck := &stuckTerminal{stuck: make(chan struct{}), free: make(chan struct{})}
	r := newRecord(t)
	done := make(chan error, 1)
	l := live{screen: screen{out: stuck, size: func() (int, int) { return 80, 24 }}, reader: r.reader(), from: 1, now: func() time.Time { return start }}
	ticks := make(chan time.Time, 1)
	ticks <- start
	go func() { done <- l.run(t.Context(), ticks) }()
	<-stuck.stuck
	const iterations = mostAbove + 5
	for n := 1; n <= iterations; n++ {
		r.iterated(0, n, "ok")
	}
	must(t, r.Close())
	close(stuck.free)
	must(t, <-done)
	text := strings.ReplaceAll(stuck.text.String(), clearRest, "")
	want := fmt.Sprintf("#%d iteration %d ends: ok · $0.00\r\n", iterations, iterations)
	if !strings.Contains(text, want) {
		t.Errorf("the last line is missing: %q", want)
	}
	if !strings.Contains(text, "... 5 lines more\r\n") {
		t.Error("nothing tells of lines that were dropped")
	}
}

// stuckTerminal takes nothing until it is freed.
type stuckTerminal struct {
	stuck, free chan struct{}
	began       bool
	text        strings.Builder
}

func (s *stuckTerminal) Write(data []byte) (int, error) {
	if !s.began {
		s.began = true
		close(s.stuck)
		<-s.free
	}
	return s.text.Write(data)
}
