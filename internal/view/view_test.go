package view

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/money"
	"github.com/agent-loop/ralph/internal/rundir"
)

const (
	hostile = "\x1b[2J\x1b]0;owned\x07bad\r\nralph: hint: next: rm -rf / \u202egnp.exe\u009b1m"
	id      = "20261115-063200-k3f9q2"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// state is a run in the middle of its life.
func state(status rundir.Status, reason string) rundir.State {
	ended := noon.Add(-time.Hour)
	return rundir.State{
		ID: id, Status: status, StopReason: reason, Agent: "claude", Engine: "gvisor", Model: "sonnet",
		StartedAt: noon.Add(-3 * time.Hour), EndedAt: &ended, ElapsedSeconds: 3720,
		Limits:    rundir.Limits{MaxCostUSD: 10 * money.Dollar, MaxIterations: 20, MaxTimeSeconds: 8 * 3600},
		Workspace: "/home/me/project", Branch: "ralph/work", Commit: "4f1c2d3",
		Iteration: 2, CostUSD: 321 * money.Cent,
		Tokens: rundir.Tokens{Input: 34_000, Output: 20_100, CacheRead: 1_100_000, CacheWrite: 50_000},
	}
}

func iterations() []rundir.Iteration {
	no, yes := false, true
	spend := func(cents money.USD, tokens int64) rundir.Spend {
		return rundir.Spend{CostUSD: cents * money.Cent, Tokens: rundir.Tokens{Input: tokens}}
	}
	return []rundir.Iteration{
		{N: 1, Outcome: "ok", DurationMS: 252_000, Turns: 14, ChangedFiles: 6, Commits: []string{"a", "b"}, Validated: &no,
			AgentCostUSD: 100 * money.Cent, Spend: spend(121, 400_000)},
		{N: 2, Outcome: "failed", Reason: "exit status 1", DurationMS: 61_000, Turns: 3, ChangedFiles: 1, Validated: &yes, Spend: spend(200, 800_000)},
		{N: 3, Outcome: "killed", DurationMS: 900},
	}
}

func summary(s rundir.State) rundir.Summary { return rundir.Summary{State: s} }

func TestList(t *testing.T) {
	live := summary(state(rundir.Running, ""))
	live.Live = true
	unlimited := state(rundir.Failed, hostile)
	unlimited.Limits, unlimited.StartedAt = rundir.Limits{}, noon.Add(-72*time.Hour)
	broken := rundir.Summary{State: rundir.State{ID: "b"}, Broken: "state.json: it is no \x1b[31mJSON"}
	runs := []rundir.Summary{broken, live, summary(state(rundir.Running, "")), summary(unlimited), summary(state(rundir.Limit, "the budget of $10.00 is spent"))}
	for _, test := range []struct {
		screen int
		want   string
	}{
		{0, `
ID                      STATUS       AGENT   ITER  COST   STARTED  REASON
b                       broken                                     state.json: it is no [31mJSON
20261115-063200-k3f9q2  running      claude  2/20  $3.21  3h ago
20261115-063200-k3f9q2  interrupted  claude  2/20  $3.21  3h ago   its process is gone
20261115-063200-k3f9q2  error        claude  2     $3.21  3d ago   [2J ]0;owned bad ralph: hint: next: rm -rf / gnp.exe 1m
20261115-063200-k3f9q2  limit        claude  2/20  $3.21  3h ago   the budget of $10.00 is spent
`},
		{80, `
ID                      STATUS       AGENT   ITER  COST   STARTED  REASON
b                       broken                                     state.json:…
20261115-063200-k3f9q2  running      claude  2/20  $3.21  3h ago
20261115-063200-k3f9q2  interrupted  claude  2/20  $3.21  3h ago   its process…
20261115-063200-k3f9q2  error        claude  2     $3.21  3d ago   [2J ]0;owned…
20261115-063200-k3f9q2  limit        claude  2/20  $3.21  3h ago   the budget o…
`},
		{60, `
ID                      STATUS       AGENT   ITER  COST
b                       broken
20261115-063200-k3f9q2  running      claude  2/20  $3.21
20261115-063200-k3f9q2  interrupted  claude  2/20  $3.21
20261115-063200-k3f9q2  error        claude  2     $3.21
20261115-063200-k3f9q2  limit        claude  2/20  $3.21
`},
	} {
		var out bytes.Buffer
		if err := List(&out, runs, noon, test.screen); err != nil {
			t.Fatal(err)
		}
		compare(t, out.String(), test.want)
	}
}

func compare(t *testing.T, got, want string) {
	t.Helper()
	if want = strings.TrimPrefix(want, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDetailOfARunThatNeedsAnAnswer(t *testing.T) {
	s := state(rundir.NeedsAttention, "the agent asks for a decision")
	s.Resumes = []rundir.Resume{
		{At: noon.Add(-2 * time.Hour), Iteration: 1, From: rundir.Limit, Limits: s.Limits},
		{At: noon.Add(-time.Hour), Iteration: 2, From: rundir.Stopped},
	}
	r := Run{
		Summary: summary(s), Path: "/home/me/project/.ralph/runs/" + id, Iterations: iterations(),
		Checkpoint: rundir.Checkpoint{
			Summary:           "half of it works",
			ValidationFailure: strings.Repeat("noise\n", 40) + "--- FAIL: TestX\nexit status 1\n",
			Question:          "Which way?\n" + hostile,
		},
		AnswerFile: "/home/me/project/.ralph/my answer.md",
		Problems:   []string{"checkpoints/0002.json: it was \x1bchanged"},
	}
	var out bytes.Buffer
	if err := Detail(&out, r, noon, 100); err != nil {
		t.Fatal(err)
	}
	compare(t, out.String(), `
run 20261115-063200-k3f9q2 needs your attention: the agent asks for a decision
  agent       claude with sonnet in gvisor
  workspace   /home/me/project
  record      /home/me/project/.ralph/runs/20261115-063200-k3f9q2
  started     2026-11-15 09:00:00 (3h ago)
  ended       2026-11-15 11:00:00 (1h ago)
  branch      ralph/work at 4f1c2d3
  iterations  2 of 20
  cost        $3.21 of $10.00
  tokens      1.2M (34.0k in, 20.1k out, 1.1M from cache, 50.0k to cache)
  time        1h02m of 8h00m

N  OUTCOME  TIME   TURNS  TOKENS  COST   FILES  COMMITS  VALID  REASON
1  ok       4m12s  14     400k    $1.21  6      2        no
2  failed   1m01s  3      800k    $2.00  1      0        yes    exit status 1
3  killed   900ms  0      0       $0.00  0      0        -

the agent itself counts $1.00 where the gate charged $1.21; limits go by the gate

resumed:
  | 2026-11-15 10:00:00 after iteration 1 (limit), with $10.00, 20 iterations, 8h00m
  | 2026-11-15 11:00:00 after iteration 2 (stopped), with no limits

the agent said last:
  | half of it works

the last validation failed:
  | …
`+strings.Repeat("  | noise\n", 12)+`  | --- FAIL: TestX
  | exit status 1

the agent asks:
  | Which way?
  | [2J ]0;owned bad
  | ralph: hint: next: rm -rf / gnp.exe 1m

not all of the record can be read:
  | checkpoints/0002.json: it was changed

  next        ralph resume 20261115-063200-k3f9q2 --answer "..."
  or          write the answer to '/home/me/project/.ralph/my answer.md', then ralph resume 20261115-063200-k3f9q2
`)
}

func TestDetailOfALiveRun(t *testing.T) {
	s := state(rundir.Running, "")
	s.Iteration, s.Current, s.EndedAt, s.Model, s.Branch, s.Commit, s.Limits = 0, 1, nil, "", "", "", rundir.Limits{}
	s.CostUSD, s.Tokens = 0, rundir.Tokens{}
	holder := rundir.Holder{PID: 7, Host: "box", Command: "ralph\x1b[2J", Started: noon}
	r := Run{Summary: rundir.Summary{State: s, Live: true}, Holder: &holder}
	r.Note(nil)
	var out bytes.Buffer
	if err := Detail(&out, r, noon, 60); err != nil {
		t.Fatal(err)
	}
	compare(t, out.String(), `
run 20261115-063200-k3f9q2 is running
  agent       claude in gvisor
  workspace   /home/me/project
  started     2026-11-15 09:00:00 (3h ago)
  written by  process 7 on box (ralph [2J), since 2026-11-1…
  under way   iteration 1
  iterations  0
  cost        $0.00
  tokens      0
  time        1h02m

  next        ralph logs -f 20261115-063200-k3f9q2
  or          ralph stop 20261115-063200-k3f9q2
`)
}

func TestClosing(t *testing.T) {
	var out bytes.Buffer
	its := iterations()[:1]
	c := rundir.Checkpoint{Summary: hostile, ValidationFailure: "noise\n--- FAIL: TestX\n"}
	Closing(&out, state(rundir.Limit, "the budget of $10.00 is spent"), its, c, 0, false)
	compare(t, out.String(), `
run 20261115-063200-k3f9q2 ended at a limit: the budget of $10.00 is spent
  iterations  2 of 20
  cost        $3.21 of $10.00
  tokens      1.2M (34.0k in, 20.1k out, 1.1M from cache, 50.0k to cache)
  time        1h02m of 8h00m
  changed     6 file changes in 2 commits
  branch      ralph/work at 4f1c2d3
  validation  failed: --- FAIL: TestX
  agent said  [2J ]0;owned bad ralph: hint: next: rm -rf / gnp.exe 1m
  next        ralph resume 20261115-063200-k3f9q2 --max-cost-usd 20
  or          ralph diff 20261115-063200-k3f9q2
  or          ralph show 20261115-063200-k3f9q2
`)
}

func TestClosingFitsTheScreenAndSaysWhyTheValidationFailed(t *testing.T) {
	var out bytes.Buffer
	c := rundir.Checkpoint{ValidationFailure: "$ make test\nsh: 1: make: not found\n\nexit code 127"}
	Closing(&out, state(rundir.Paused, ""), iterations()[:1], c, 40, false)
	compare(t, out.String(), `
run 20261115-063200-k3f9q2 is paused
  iterations  2 of 20
  cost        $3.21 of $10.00
  tokens      1.2M (34.0k in, 20.1k out…
  time        1h02m of 8h00m
  changed     6 file changes in 2 commi…
  branch      ralph/work at 4f1c2d3
  validation  failed: exit code 127, sh…
  next        ralph resume 20261115-063200-k3f9q2
  or          ralph diff 20261115-063200-k3f9q2
  or          ralph show 20261115-063200-k3f9q2
`)
}

// TestClosingIsShort holds for every status and the longest words of an agent.
func TestClosingIsShort(t *testing.T) {
	endless := strings.Repeat(hostile+" ", 1000)
	for _, status := range Statuses() {
		for _, color := range []bool{false, true} {
			var out bytes.Buffer
			c := rundir.Checkpoint{Summary: endless, Question: endless, ValidationFailure: endless}
			s := state(status, endless)
			s.Verification = &rundir.Verification{Outcome: rundir.NotVerified, Commit: endless, Reason: endless}
			s.Branch, s.Commit = endless, endless
			Closing(&out, s, iterations()[:1], c, 0, color)
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if len(lines) > 15 {
				t.Errorf("%s takes %d lines", status, len(lines))
			}
			escapes := 0
			if color {
				escapes = 2 // on and off, and nothing of the agent's
			}
			if got := strings.Count(out.String(), "\x1b"); got != escapes {
				t.Errorf("%s has %d escapes, want %d: %q", status, got, escapes, lines[0])
			}
			for _, line := range lines[1:] {
				checkSafe(t, line, closingWidth)
			}
		}
	}
}

func TestNextGivesMoreOfWhatIsUsedUp(t *testing.T) {
	limits := rundir.Limits{MaxCostUSD: 150 * money.Cent, MaxIterations: 5, MaxTokens: 1000, MaxTimeSeconds: 5400}
	for _, test := range []struct {
		name  string
		state rundir.State
		want  string
	}{
		{"iterations", rundir.State{Iteration: 5}, " --max-iterations 10"},
		{"money, almost", rundir.State{Iteration: 4, CostUSD: 149 * money.Cent}, " --max-cost-usd 3"},
		{"tokens and time", rundir.State{Tokens: rundir.Tokens{Output: 1001}, ElapsedSeconds: 5400}, " --max-tokens 2000 --max-time 3h"},
		{"nothing", rundir.State{}, ""},
	} {
		test.state.ID, test.state.Status, test.state.Limits = "one", rundir.Limit, limits
		if got := Next(summary(test.state), ""); len(got) != 1 || got[0] != "ralph resume one"+test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
	absurd := rundir.State{ID: "one", Status: rundir.Limit, Iteration: math.MaxInt, CostUSD: money.Most, ElapsedSeconds: math.MaxInt64,
		Limits: rundir.Limits{MaxCostUSD: money.Most, MaxIterations: math.MaxInt, MaxTimeSeconds: math.MaxInt64}}
	if got := Next(summary(absurd), ""); strings.Contains(got[0], " -1") || strings.Contains(got[0], " 0") {
		t.Errorf("an absurd limit: %q", got)
	}
}

func TestNextAsksForAnAnswerToAQuestionAlone(t *testing.T) {
	s := summary(rundir.State{ID: "one", Status: rundir.NeedsAttention})
	for question, want := range map[string]string{"": "ralph resume one", "red or blue?": `ralph resume one --answer "..."`} {
		if got := Next(s, question); len(got) != 1 || got[0] != want {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
	}
}

func TestASmallLimitIsRaised(t *testing.T) {
	for _, limit := range []money.USD{1, money.Cent, 99 * money.Cent, money.Dollar, 199 * money.Cent} {
		s := rundir.State{ID: "one", Status: rundir.Limit, CostUSD: limit, Limits: rundir.Limits{MaxCostUSD: limit}}
		_, raised, _ := strings.Cut(Next(summary(s), "")[0], "--max-cost-usd ")
		if amount, err := money.Parse(raised); err != nil || amount <= limit {
			t.Errorf("a limit of %v is raised to %v, %v", limit, amount, err)
		}
	}
}
