package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/rundir"
)

const (
	first  = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	second = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func event(t *testing.T, kind string, data any) rundir.Event {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return rundir.Event{Time: noon.Add(-time.Hour), Type: kind, Data: text}
}

func TestDetailTellsWhatCameHome(t *testing.T) {
	s := state(rundir.Done, "verified")
	s.Base, s.Commit = first, second
	s.Verification = &rundir.Verification{Outcome: rundir.Verified, Commit: second}
	r := Run{Summary: summary(s), Path: "/r", Iterations: iterations()[:1]}
	var long []string
	for n := range 25 {
		long = append(long, fmt.Sprintf("src/%d", n))
	}
	for _, e := range []rundir.Event{
		event(t, rundir.EventImport, rundir.Import{Branch: "lost", Held: "it was before the rewind"}),
		event(t, rundir.EventRewind, rundir.Rewind{To: 0, Commit: first}),
		event(t, rundir.EventRewind, rundir.Rewind{To: 2, Commit: second}),
		event(t, rundir.EventImport, rundir.Import{Protected: []string{".vscode/tasks.json", hostile}, Links: long, Held: "the branch is checked out in " + hostile}),
		event(t, rundir.EventImport, rundir.Import{Refused: "a path leads elsewhere " + hostile}),
		event(t, rundir.EventImport, "of another shape"),
		event(t, rundir.EventValidation, rundir.Validation{Confirms: true, Trusted: []string{"M a_test.go", hostile}}),
		event(t, rundir.EventValidation, rundir.Validation{Passed: true}),
		event(t, rundir.EventPush, rundir.Push{Remote: "origin", Branch: "ralph/work", Commit: second, Error: hostile}),
	} {
		r.Work.Take(e)
	}
	var out bytes.Buffer
	if err := Detail(&out, r, noon, 100); err != nil {
		t.Fatal(err)
	}
	compare(t, out.String(), `
run 20261115-063200-k3f9q2 is done: verified
  agent       claude with sonnet in gvisor
  workspace   /home/me/project
  record      /r
  started     2026-11-15 09:00:00 (3h ago)
  ended       2026-11-15 11:00:00 (1h ago)
  branch      ralph/work at bbbbbbbbbbbb
  base        aaaaaaaaaaaa
  verified    yes, on a clean checkout of bbbbbbbbbbbb
  held back   the branch is checked out in [2J ]0;owned bad ralph: hint: next: rm -rf / gnp.exe 1m
  refused     a path leads elsewhere [2J ]0;owned bad ralph: hint: next: rm -rf / gnp.exe 1m
  pushed      bbbbbbbbbbbb to ralph/work of origin: not done: [2J ]0;owned bad ralph: hint: next: r…
  iterations  2 of 20
  cost        $3.21 of $10.00
  tokens      1.2M (34.0k in, 20.1k out, 1.1M from cache, 50.0k to cache)
  time        1h02m of 8h00m

N  OUTCOME  TIME   TURNS  TOKENS  COST   FILES  COMMITS  VALID  REASON
1  ok       4m12s  14     400k    $1.21  6      2        no

the agent itself counts $1.00 where the gate charged $1.21; limits go by the gate

changed, and programs of yours would obey them:
  | .vscode/tasks.json
  | [2J ]0;owned bad ralph: hint: next: rm -rf / gnp.exe 1m

new links to other repositories:
  | `+strings.Join(long[:20], "\n  | ")+`
  | ... and 5 more

check files that differ from the base's, which were used instead:
  | M a_test.go
  | [2J ]0;owned bad ralph: hint: next: rm -rf / gnp.exe 1m

taken back:
  | 2026-11-15 11:00:00 to its beginning, aaaaaaaaaaaa
  | 2026-11-15 11:00:00 to iteration 2, bbbbbbbbbbbb

  next        ralph diff 20261115-063200-k3f9q2
  or          ralph apply 20261115-063200-k3f9q2
`)
}

func TestClosingOfVerifiedWork(t *testing.T) {
	s := state(rundir.Done, "verified")
	s.Base, s.Commit = first, second
	s.Verification = &rundir.Verification{Outcome: rundir.Verified, Commit: second}
	var out bytes.Buffer
	Closing(&out, s, iterations()[:1], rundir.Checkpoint{}, 0, false)
	compare(t, out.String(), `
run 20261115-063200-k3f9q2 is done: verified
  iterations  2 of 20
  cost        $3.21 of $10.00
  tokens      1.2M (34.0k in, 20.1k out, 1.1M from cache, 50.0k to cache)
  time        1h02m of 8h00m
  changed     6 file changes in 2 commits
  branch      ralph/work at bbbbbbbbbbbb
  verified    yes, on a clean checkout of bbbbbbbbbbbb
  next        ralph diff 20261115-063200-k3f9q2
  or          ralph apply 20261115-063200-k3f9q2
  or          ralph show 20261115-063200-k3f9q2
`)
}

// TestVerifiedIsSaidOfExactlyThisCommit, and of nothing else.
func TestVerifiedIsSaidOfExactlyThisCommit(t *testing.T) {
	for _, test := range []struct {
		name   string
		commit string
		said   *rundir.Verification
		ok     bool
		how    string
	}{
		{"nothing", second, nil, false, "no validation has confirmed it"},
		{"verified", second, &rundir.Verification{Outcome: rundir.Verified, Commit: second}, true, "on a clean checkout of bbbbbbbbbbbb"},
		{"of the files", "", &rundir.Verification{Outcome: rundir.Verified}, true, "on the files as they were"},
		{"files, not the commit", second, &rundir.Verification{Outcome: rundir.Verified}, false, "it passed on the files as they were, and the branch is at bbbbbbbbbbbb now"},
		{"another commit", second, &rundir.Verification{Outcome: rundir.Verified, Commit: first}, false, "it passed on a clean checkout of aaaaaaaaaaaa, and the branch is at bbbbbbbbbbbb now"},
		{"failed", second, &rundir.Verification{Outcome: rundir.NotVerified, Commit: second, Reason: "exit code 1"}, false, "the validation failed on a clean checkout of bbbbbbbbbbbb: exit code 1"},
		{"could not be", second, &rundir.Verification{Outcome: rundir.Unverifiable, Commit: second, Reason: "no npm"}, false, "it could not be verified here: no npm"},
		{"of another kind", second, &rundir.Verification{Outcome: "perhaps", Commit: second}, false, "it could not be verified here"},
	} {
		ok, how := Verified(rundir.State{Commit: test.commit, Verification: test.said})
		if ok != test.ok || how != test.how {
			t.Errorf("%s: %v, %q; want %v, %q", test.name, ok, how, test.ok, test.how)
		}
	}
}

func TestNextOfARunThatIsDone(t *testing.T) {
	for _, test := range []struct {
		name string
		s    rundir.State
		want string
	}{
		{"with work", rundir.State{Branch: "b", Base: first, Commit: second}, "ralph diff one, ralph apply one"},
		{"without", rundir.State{Branch: "b", Base: first, Commit: first}, ""},
		{"in place", rundir.State{}, ""},
	} {
		test.s.ID, test.s.Status = "one", rundir.Done
		if got := strings.Join(Next(summary(test.s), ""), ", "); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// TestNextOfARunThatWasTakenBack gives more room only where there is none.
func TestNextOfARunThatWasTakenBack(t *testing.T) {
	for used, want := range map[int]string{3: "ralph resume one", 5: "ralph resume one --max-iterations 10"} {
		s := rundir.State{ID: "one", Status: rundir.Stopped, Iteration: used, Limits: rundir.Limits{MaxIterations: 5}}
		if got := Next(summary(s), ""); len(got) != 1 || got[0] != want {
			t.Errorf("after %d: %q, want %q", used, got, want)
		}
	}
}
