package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agent-loop/ralph/internal/money"
)

// commits makes a run of so many iterations, each of which leaves a commit and a
// checkpoint; the last says that all is done.
func commits(t *testing.T, r *Run, iterations int) {
	t.Helper()
	for n := r.Iterated() + 1; n <= iterations; n++ {
		c := Checkpoint{Summary: fmt.Sprintf("did %d", n), Question: "well?"}
		if n == iterations {
			c.Done = "it passes"
		}
		must(t,
			r.Append(EventCharge, n, Charge{Spend: Spend{CostUSD: money.Cent}}),
			r.SaveCheckpoint(n, c),
			r.AppendIteration(Iteration{N: n, Outcome: "ok", Commit: fmt.Sprintf("c%d", n)}))
	}
	must(t, r.SaveState(State{
		Status: Done, Base: "base", Commit: fmt.Sprintf("c%d", iterations), Branch: "b", Limits: Limits{MaxIterations: 9},
		Verification: &Verification{Outcome: Verified}, ElapsedSeconds: 7, Current: 3,
	}))
}

func verifies(t *testing.T, root string) {
	t.Helper()
	if report, err := Verify(root, "one"); err != nil || report.Unsealed != 0 {
		t.Fatalf("verify: %+v, %v", report, err)
	}
}

func TestRewind(t *testing.T) {
	for _, test := range []struct {
		to             int
		commit, reason string
		summary        string
	}{
		{2, "c2", "rewound to iteration 2", "did 2"},
		{3, "c3", "rewound to iteration 3", "did 3"},
		{0, "base", "rewound to its beginning", ""},
	} {
		t.Run(test.reason, func(t *testing.T) {
			root := t.TempDir()
			r := create(t, root, "one", Options{})
			commits(t, r, 3)
			must(t, r.Rewind(test.to, test.commit))
			verifies(t, root)
			s, err := r.State()
			must(t, err)
			if s.Status != Stopped || s.StopReason != test.reason || s.Commit != test.commit || s.Verification != nil || s.EndedAt == nil || s.Current != 0 {
				t.Errorf("state: %+v", s)
			}
			if s.Iteration != 3 || s.CostUSD != 3*money.Cent || s.Limits.MaxIterations != 9 || s.Base != "base" || s.Branch != "b" || s.ElapsedSeconds != 7 {
				t.Errorf("what was used is used: %+v", s)
			}
			n, c, err := r.LastCheckpoint()
			must(t, err)
			if n != 4 || c.Commit != test.commit || c.Summary != test.summary || c.Done != "" || c.Question != "" {
				t.Errorf("checkpoint %d: %+v", n, c)
			}
		})
	}
}

// TestEveryIterationCanBeRewoundTo again and again, also after work that went on
// from an earlier one.
func TestEveryIterationCanBeRewoundTo(t *testing.T) {
	root := t.TempDir()
	r := create(t, root, "one", Options{})
	commits(t, r, 3)
	for _, to := range []int{1, 3, 2} {
		must(t, r.Rewind(to, fmt.Sprintf("c%d", to)))
		verifies(t, root)
	}
	commits(t, r, 5)
	must(t, r.Rewind(1, "c1"))
	verifies(t, root)
	for n := 1; n <= 5; n++ {
		if c, err := r.Checkpoint(n); err != nil || c.Summary != fmt.Sprintf("did %d", n) {
			t.Errorf("checkpoint %d: %+v, %v", n, c, err)
		}
	}
	for n, want := range []Span{{"base", "c1"}, {"c1", "c2"}, {"c2", "c3"}, {"c2", "c4"}, {"c4", "c5"}} {
		if got, err := r.Span(n + 1); err != nil || got != want {
			t.Errorf("iteration %d did %+v, %v; want %+v", n+1, got, err, want)
		}
	}
	for _, n := range []int{-1, 0, 6} {
		if _, err := r.Span(n); err == nil {
			t.Errorf("there is an iteration %d", n)
		}
	}
}

// TestAnIterationWithoutACommitDidNothing and the next one goes on from before it.
func TestAnIterationWithoutACommitDidNothing(t *testing.T) {
	r := create(t, t.TempDir(), "one", Options{})
	for n, commit := range []string{"c1", "", "c3"} {
		must(t, r.AppendIteration(Iteration{N: n + 1, Outcome: "ok", Commit: commit}))
	}
	must(t, r.SaveState(State{Status: Paused, Base: "base"}))
	for n, want := range []Span{{"base", "c1"}, {"c1", "c1"}, {"c1", "c3"}} {
		if got, err := r.Span(n + 1); err != nil || got != want {
			t.Errorf("iteration %d did %+v, %v; want %+v", n+1, got, err, want)
		}
	}
}

// TestARewindThatWasKilledIsMadeAgain plays every state that it can leave.
func TestARewindThatWasKilledIsMadeAgain(t *testing.T) {
	for name, until := range map[string]func(t *testing.T, r *Run){
		"before all": func(*testing.T, *Run) {},
		"checkpoint announced": func(t *testing.T, r *Run) {
			must(t, r.SaveCheckpoint(4, Checkpoint{Commit: "c1"}), os.Remove(filepath.Join(r.Path(), checkpointPath(4))))
		},
		"checkpoint saved": func(t *testing.T, r *Run) { must(t, r.SaveCheckpoint(4, Checkpoint{Commit: "c1"})) },
		"event written": func(t *testing.T, r *Run) {
			must(t, r.SaveCheckpoint(4, Checkpoint{Commit: "c1"}), r.Append(EventRewind, 0, Rewind{To: 1, Commit: "c1"}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			r := create(t, root, "one", Options{})
			commits(t, r, 3)
			until(t, r)
			must(t, r.Close())
			again, err := Open(root, "one", Options{})
			must(t, err)
			must(t, again.Rewind(1, "c1"), again.Close())
			verifies(t, root)
			reader := r.reopened(t, root)
			if n, c, err := reader.LastCheckpoint(); n != 4 || c.Summary != "did 1" || c.Commit != "c1" || err != nil {
				t.Errorf("checkpoint %d: %+v, %v", n, c, err)
			}
		})
	}
}

func TestCheckpointOfAnIteration(t *testing.T) {
	root := t.TempDir()
	r := create(t, root, "one", Options{})
	must(t, r.SaveCheckpoint(1, Checkpoint{Summary: "old"}), r.SaveCheckpoint(1, Checkpoint{Summary: "new"}), r.SaveCheckpoint(2, Checkpoint{Summary: "two"}), r.Sync())
	for n, want := range map[int]string{0: "", 1: "new", 2: "two", 3: ""} {
		if c, err := r.Checkpoint(n); err != nil || c.Summary != want {
			t.Errorf("checkpoint %d: %+v, %v", n, c, err)
		}
	}
	must(t, os.WriteFile(filepath.Join(r.Path(), checkpointPath(1)), []byte(`{"summary":"forged"}`), 0o600))
	_, err := r.Checkpoint(1)
	if damaged := (*BadRecordError)(nil); !errors.As(err, &damaged) {
		t.Errorf("a forged checkpoint: %v", err)
	}
}

// TestALostCheckpointIsTheOneBefore: a crash took the file, Open noted it.
func TestALostCheckpointIsTheOneBefore(t *testing.T) {
	root := t.TempDir()
	r := create(t, root, "one", Options{})
	must(t, r.SaveCheckpoint(1, Checkpoint{Summary: "old"}), r.SaveState(State{Status: Paused}))
	path := filepath.Join(r.Path(), checkpointPath(1))
	old, err := os.ReadFile(path)
	must(t, err)
	must(t, r.SaveCheckpoint(1, Checkpoint{Summary: "new"}), r.Close(), os.WriteFile(path, old, 0o600))
	r, err = Open(root, "one", Options{})
	must(t, err)
	must(t, r.Close())
	if c, err := r.reopened(t, root).Checkpoint(1); err != nil || c.Summary != "old" {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestEventsOfPassOverTheRest(t *testing.T) {
	r := create(t, t.TempDir(), "one", Options{})
	must(t,
		r.Append(EventNote, 1, map[string]string{"text": `,"type":"git.push"`, "type": EventPush}),
		r.Append(EventPush, 0, Push{Branch: "b"}),
		r.AppendRaw(EventAgent, 2, []byte(`{"type":"git.push"}`)),
		r.Append(EventRewind, 0, Rewind{To: 1}),
		r.Append(EventPush, 0, Push{Branch: "c"}),
		r.Sync())
	var got []int64
	for e, err := range r.EventsOf(EventPush, EventRewind) {
		must(t, err)
		got = append(got, e.Seq)
	}
	if !slices.Equal(got, []int64{4, 6, 7}) { // two are of every run
		t.Errorf("got the events %v", got)
	}
	for e, err := range r.EventsOf(EventPush) {
		must(t, err)
		if e.Seq != 4 {
			t.Error("it goes on when nobody wants more")
		}
		break
	}
}

// FuzzTypeOf: a type that is read in haste is the one that is there.
func FuzzTypeOf(f *testing.F) {
	prev := Hash{}.String()
	for _, line := range []string{
		`{"seq":1,"time":"2026-11-15T06:32:00Z","type":"git.push","data":{"type":"x"},"prev":"` + prev + `"}`,
		`{"data":{"a":1,"type":"x"},"seq":1,"time":"2026-11-15T06:32:00Z","type":"y","prev":"` + prev + `"}`,
		`{"seq":1,"data":",\"type\":\"x\"","time":"2026-11-15T06:32:00Z","type":"y","prev":"` + prev + `"}`,
		`{"seq":1,"time":"2026-11-15T06:32:00Z","type":"\u0079","prev":"` + prev + `"}`,
		`{"seq":1,"type":"y`, ``, `{`, `{"seq":1,"type":"a","type":"b"}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		name := typeOf(line)
		if e, _, err := parseLine(line); err == nil && name != "" && name != e.Type {
			t.Errorf("%q was taken for %q: %s", e.Type, name, line)
		}
	})
}
