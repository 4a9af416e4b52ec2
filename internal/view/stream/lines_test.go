package stream

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/money"
	"github.com/agent-loop/ralph/internal/rundir"
)

// TestAnEventIsALine shows what each kind of event looks like. An empty calm line
// means that only the verbose see the event, as "verbose" has it.
func TestAnEventIsALine(t *testing.T) {
	limited := rundir.Limits{MaxCostUSD: 10 * money.Dollar, MaxIterations: 20, MaxTimeSeconds: 8 * 3600, MaxTokens: 2_000_000}
	for _, test := range []struct {
		name    string
		kind    string
		data    any
		calm    string
		verbose string
	}{
		{"start", rundir.EventStart, rundir.Start{Agent: "claude", Model: "sonnet", Engine: "gvisor", Limits: limited, Notes: []string{"no git"}},
			"run starts on 2026-11-15: claude with sonnet in gvisor, at most $10.00, 2M tokens, 20 iterations, 8h\n    note: no git", ""},
		{"resume", rundir.EventStart, rundir.Start{Agent: "mini", Engine: "gvisor", Resumed: true}, "run resumes on 2026-11-15: mini in gvisor", ""},
		{"stop", rundir.EventStop, rundir.Stop{Status: rundir.Limit, Reason: "it cost $10.00"}, "run ends: limit: it cost $10.00", ""},
		{"launch", rundir.EventLaunch, rundir.Launch{
			Engine: "gvisor", Version: "1", Boundary: "user-space kernel", Network: "gate", Policy: "allowlist", Allowed: []string{"a", "b"},
			Permission: "bypass", Memory: 8e9, Mounts: []rundir.Mount{{Source: "/p"}, {Source: "/d", ReadOnly: true}},
		}, "sandbox starts: gvisor 1, user-space kernel, 2 mounts (1 writable), network gate, policy allowlist, 2 allowed, permissions bypass, 8 GB memory", ""},
		{"landed", rundir.EventLanded, rundir.Landed{Sandbox: "s1", Reason: "the run ends"}, "", "sandbox s1 ends: the run ends"},
		{"crashed", rundir.EventLanded, rundir.Landed{Sandbox: "s1", Error: "busy"}, "sandbox s1 was not ended well: busy", ""},
		{"begin", rundir.EventBegin, rundir.Begin{Attempt: 1, Task: "T-3", TaskTitle: "log in"}, "iteration 2 begins: T-3 log in", ""},
		{"again", rundir.EventBegin, rundir.Begin{Attempt: 3, HalfOpen: true}, "iteration 2 begins again, attempt 3, on trial after the breaker was open", ""},
		{"outcome", rundir.EventOutcome, rundir.Outcome{Verdict: "ok", Claims: "complete"}, "", "attempt ends: ok, the agent says complete"},
		{"limited", rundir.EventOutcome, rundir.Outcome{Verdict: "rate-limited", Reason: "the account", Again: true}, "attempt ends, not counted: rate-limited: the account", ""},
		{"text", rundir.EventAgent, agent.Event{Kind: agent.Text, Text: "I will\nlook."}, "I will look.", ""},
		{"subagent", rundir.EventAgent, agent.Event{Kind: agent.Text, Text: "found", Subagent: true}, "(subagent) found", ""},
		{"thinking", rundir.EventAgent, agent.Event{Kind: agent.Thinking, Text: "hm"}, "", "hm"},
		{"usage", rundir.EventAgent, agent.Event{Kind: agent.UsageEvent, Usage: &agent.Usage{Input: 3}}, "", "used 3 in, 0 cached, 0 written, 0 out"},
		{"raw", rundir.EventAgent, agent.Event{Kind: agent.Raw, Code: "system/x", Size: 3, Raw: []byte("{}")}, "", "system/x 3 bytes: {}"},
		{"command", rundir.EventAgent, agent.Event{Kind: agent.ToolCall, Tool: "Bash", Input: `{"command":"go test ./...","description":"run"}`}, "-> Bash go test ./...", ""},
		{"argv", rundir.EventAgent, agent.Event{Kind: agent.ToolCall, Tool: "shell", Input: `{"command":["bash","-lc","ls"]}`}, "-> shell bash -lc ls", ""},
		{"plain command", rundir.EventAgent, agent.Event{Kind: agent.ToolCall, Tool: "shell", Input: "ls -l"}, "-> shell ls -l", ""},
		{"file", rundir.EventAgent, agent.Event{Kind: agent.ToolCall, Tool: "Edit", Input: `{"old":"x","file_path":"a.go"}`}, "-> Edit a.go", ""},
		{"other tool", rundir.EventAgent, agent.Event{Kind: agent.ToolCall, Tool: "Todo", Input: `{"items":[1]}`}, `-> Todo {"items":[1]}`, ""},
		{"result", rundir.EventAgent, agent.Event{Kind: agent.ToolResult, Text: "fine"}, "", "<- fine"},
		{"failed result", rundir.EventAgent, agent.Event{Kind: agent.ToolResult, Text: "no such file", Failed: true}, "<- failed: no such file", ""},
		{"done", rundir.EventAgent, agent.Event{Kind: agent.Result, Text: "bye", End: &agent.End{Success: true}}, "", "done: bye"},
		{"gave up", rundir.EventAgent, agent.Event{Kind: agent.Result, End: &agent.End{Subtype: "error_max_turns"}}, "ended: error_max_turns", ""},
		{"error", rundir.EventAgent, agent.Event{Kind: agent.ErrorEvent, Code: "overloaded", Text: "try later"}, "error: overloaded try later", ""},
		{"limit told", rundir.EventAgent, agent.Event{Kind: agent.RateLimit, Code: "allowed", Limit: &agent.Limit{}}, "", "limit allowed"},
		{"limit met", rundir.EventAgent, agent.Event{Kind: agent.RateLimit, Code: "rejected", Limit: &agent.Limit{Rejected: true}}, "limit rejected", ""},
		{"stderr", rundir.EventAgentError, rundir.Text{Text: "warning: x\n"}, "stderr: warning: x", ""},
		{"exit", rundir.EventAgentExit, rundir.AgentExit{DurationMS: 61_000}, "", "agent exits with 0 after 1m01s"},
		{"bad exit", rundir.EventAgentExit, rundir.AgentExit{Code: 143, Why: "timed out", DurationMS: 3_600_000}, "agent exits with 143 after 1h00m: timed out", ""},
		{"overflow", rundir.EventOutput, rundir.Output{Events: 1, Bytes: 3_400_000}, "agent printed more than is kept: 1 event, 3.4 MB are not recorded", ""},
		{"denied", rundir.EventGate, gate.Event{Method: "CONNECT", Host: "evil.example", Port: 443, Reason: "no rule allows it", Code: "denied"}, "gate denies CONNECT evil.example:443: no rule allows it, denied", ""},
		{"allowed", rundir.EventGate, gate.Event{Method: "CONNECT", Host: "a.example", Port: 443, Allowed: true, Rule: "a.example", Status: 200, BytesUp: 999, BytesDown: 1500, Duration: 2 * time.Second},
			"", "gate allows CONNECT a.example:443, rule a.example, 200, 999 B up, 1.5 kB down, 2s"},
		{"files", rundir.EventFiles, rundir.Files{Changed: 6}, "", "6 files changed"},
		{"charge", rundir.EventCharge, rundir.Charge{Spend: rundir.Spend{CostUSD: 12_345 * money.Micro, Tokens: rundir.Tokens{Input: 5, Output: 7}}, Model: "m"}, "", "charge $0.012345 m 5 in, 0 cached, 0 written, 7 out"},
		{"valid", rundir.EventValidation, rundir.Validation{Command: "go test", Passed: true, DurationMS: 12_300}, "validation passes: go test (12s)", ""},
		{"invalid", rundir.EventValidation, rundir.Validation{Command: "go test", ExitCode: 1, Output: strings.Repeat("old\n", 20) + "\n--- FAIL\nFAIL\n"},
			"validation fails with 1: go test (0s)" + strings.Repeat("\n    old", 8) + "\n    --- FAIL\n    FAIL", ""},
		{"not run", rundir.EventValidation, rundir.Validation{Command: "x", Error: "timed out"}, "validation could not be run: x (0s): timed out", ""},
		{"commits", rundir.EventImport, rundir.Import{Branch: "ralph/x", From: "a", To: "abc1234abc1234", Commits: []string{"a", "b", "c"}, Files: 5, Rewritten: 1, Bytes: 12_000},
			"3 new commits on ralph/x (abc1234abc12), 5 files changed, 1 rewritten, 12 kB", ""},
		{"no commits", rundir.EventImport, rundir.Import{Branch: "ralph/x", To: "abc1234"}, "", "0 new commits on ralph/x (abc1234)"},
		{"commits refused", rundir.EventImport, rundir.Import{Branch: "ralph/x", Refused: "the path \"..\" leads elsewhere"}, `commits refused: the path ".." leads elsewhere`, ""},
		{"commits held", rundir.EventImport, rundir.Import{Branch: "ralph/x", To: "abc1234", Held: "it is checked out in /p", Protected: []string{".vscode/a", ".envrc"}, Links: many("l", 22)},
			"0 new commits on ralph/x (abc1234)\n    the branch was not moved: it is checked out in /p\n    programs of yours would obey what was changed: .vscode/a, .envrc\n" +
				"    new links to other repositories: " + strings.Join(many("l", 20), ", ") + ", and 2 more", ""},
		{"rewind", rundir.EventRewind, rundir.Rewind{To: 2, Commit: "abc1234"}, "run taken back to iteration 2, abc1234", ""},
		{"rewind to the beginning", rundir.EventRewind, rundir.Rewind{Commit: "abc1234"}, "run taken back to its beginning, abc1234", ""},
		{"push", rundir.EventPush, rundir.Push{Remote: "origin", Branch: "ralph/x", Commit: "abc1234"}, "pushed ralph/x (abc1234) to origin", ""},
		{"no push", rundir.EventPush, rundir.Push{Remote: "origin", Branch: "ralph/x", Commit: "abc1234", Error: "no route"}, "could not push ralph/x (abc1234) to origin: no route", ""},
		{"verified", rundir.EventValidation, rundir.Validation{Command: "go test", Passed: true, Confirms: true, Outcome: rundir.Verified, Commit: "abc1234", DurationMS: 12_000, Trusted: []string{"M a_test.go"}},
			"verified on a clean checkout of abc1234: go test (12s)\n    check files differ from the base's, which were used instead: M a_test.go", ""},
		{"verified in place", rundir.EventValidation, rundir.Validation{Command: "go test", Passed: true, Confirms: true, Outcome: rundir.Verified}, "verified in a new sandbox: go test (0s)", ""},
		{"not verified", rundir.EventValidation, rundir.Validation{Command: "go test", ExitCode: 1, Confirms: true, Outcome: rundir.NotVerified, Commit: "abc1234", Output: "--- FAIL\n"},
			"not verified: it fails with 1 on a clean checkout of abc1234: go test (0s)\n    --- FAIL", ""},
		{"unverifiable", rundir.EventValidation, rundir.Validation{Command: "go test", Confirms: true, Outcome: rundir.Unverifiable, Commit: "abc1234", Error: "the setup fails"},
			"cannot be verified here: go test (0s): the setup fails", ""},
		{"tasks", rundir.EventTask, rundir.Tasks{Passing: 3, All: 9, Changes: []string{"T-3 passes"}}, "3 of 9 tasks done: T-3 passes", ""},
		{"cheat", rundir.EventTask, rundir.Tasks{Passing: 3, All: 9, Violations: []string{"T-4 was removed"}}, "3 of 9 tasks done\n    not taken over: T-4 was removed", ""},
		{"no tasks", rundir.EventTask, rundir.Tasks{File: "prd.json", Problem: "it is empty"}, "task file prd.json cannot be read: it is empty", ""},
		{"wait", rundir.EventWait, rundir.Wait{Why: "the account is limited", Until: start.Add(90 * time.Minute)}, "waits until 13:30 (1h30m): the account is limited", ""},
		{"long wait", rundir.EventWait, rundir.Wait{Why: "x", Until: start.Add(72 * time.Hour)}, "waits until 2026-11-18 12:00 (3d00h): x", ""},
		{"breaker", rundir.EventBreaker, rundir.Breaker{State: "open", Why: "3 errors"}, "breaker open: 3 errors", ""},
		{"question", rundir.EventQuestion, rundir.Question{Kind: "decide", Text: "A\n\nor B?", File: "answer.md"}, "needs you (decide), answer in answer.md\n    A\n    or B?", ""},
		{"answer", rundir.EventAnswer, rundir.Answer{Question: "A?", Answer: "B"}, "answered: B", ""},
		{"request", rundir.EventRequest, rundir.Asked{Request: rundir.PauseRequest, By: "the terminal"}, "asked to pause by the terminal", ""},
		{"told", rundir.EventNotify, rundir.Notified{Channel: "webhook", About: "done"}, "", "told a person by webhook (done)"},
		{"not told", rundir.EventNotify, rundir.Notified{Channel: "webhook", About: "done", Error: "404"}, "could not tell a person by webhook (done): 404", ""},
		{"note", rundir.EventNote, rundir.Note{Text: "well"}, "note: well", ""},
		{"of others", "custom.kind", map[string]int{"a": 1}, "", `custom.kind {"a":1}`},
		{"of another shape", rundir.EventStop, []int{1}, "run.stop [1]", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := newRecord(t)
			r.add(0, test.kind, 2, test.data)
			e := r.events()[0]
			if test.calm != "" {
				test.verbose = test.calm
			}
			for _, look := range []struct {
				verbose bool
				want    string
			}{{false, test.calm}, {true, test.verbose}} {
				lines := NewLines(Options{Verbose: look.verbose, Zone: time.UTC})
				want := []string{}
				if look.want != "" {
					want = strings.Split("12:00:00 #2 "+look.want, "\n")
				}
				equal(t, lines.Render(e), want)
			}
		})
	}
}

func many(name string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(name, i))
	}
	return all
}

func TestTheLineOfAnIterationTellsWhatItCameTo(t *testing.T) {
	r := newRecord(t)
	charge := rundir.Charge{Spend: rundir.Spend{CostUSD: 205 * money.Dollar / 1000, Tokens: rundir.Tokens{Input: 1200, Output: 34}}}
	r.add(0, rundir.EventBegin, 1, rundir.Begin{Attempt: 1})
	r.add(time.Second, rundir.EventCharge, 1, charge)
	r.add(time.Second, rundir.EventOutcome, 1, rundir.Outcome{Verdict: "overloaded", Reason: "busy", Again: true})
	r.add(time.Minute, rundir.EventBegin, 1, rundir.Begin{Attempt: 2})
	r.add(0, rundir.EventGate, 1, gate.Event{Host: "x", Port: 1})
	r.add(0, rundir.EventGate, 1, gate.Event{Host: "y", Port: 1, Allowed: true})
	r.add(time.Second, rundir.EventCharge, 1, charge)
	r.add(0, rundir.EventFiles, 1, rundir.Files{Changed: 1})
	r.add(0, rundir.EventOutcome, 1, rundir.Outcome{Verdict: "failed", Reason: "it exited with 1"})
	r.add(0, rundir.EventImport, 1, rundir.Import{Commits: []string{"a", "b"}})
	r.add(0, rundir.EventValidation, 1, rundir.Validation{Passed: true})
	r.add(0, rundir.EventValidation, 1, rundir.Validation{Confirms: true, Outcome: rundir.Unverifiable}) // says nothing about the work
	r.iterated(time.Second, 1, "failed")
	r.add(0, rundir.EventBegin, 2, rundir.Begin{Attempt: 1})
	r.iterated(5*time.Second, 2, "ok")
	lines := NewLines(Options{Zone: time.UTC})
	var got []string
	for _, e := range r.events() {
		if e.Type != rundir.EventIteration {
			lines.Skip(e)
			continue
		}
		got = append(got, lines.Render(e)...)
	}
	equal(t, got, []string{
		"12:01:04 #1 iteration 1 ends: failed: it exited with 1 · 1m04s · $0.41 · 2.5k tokens · 1 file changed · 2 commits · validated · 1 denied · 2 attempts",
		"12:01:09 #2 iteration 2 ends: ok · 5s · $0.00",
	})
}

// TestWordsInPiecesAreLines: some agents say every word on its own.
func TestWordsInPiecesAreLines(t *testing.T) {
	r := newRecord(t)
	piece := func(n int, text string) {
		r.add(time.Second, rundir.EventAgent, n, agent.Event{Kind: agent.Text, Text: text, Delta: true})
	}
	piece(1, "I will ")
	piece(1, "look.\n")
	piece(1, "Then")
	r.add(0, rundir.EventAgent, 1, agent.Event{Kind: agent.Thinking, Text: "unseen"})
	piece(1, " more")
	r.add(time.Second, rundir.EventAgent, 1, agent.Event{Kind: agent.ToolCall, Tool: "ls"})
	piece(1, "left over")
	piece(2, "new")
	lines := NewLines(Options{Zone: time.UTC})
	var got []string
	for _, e := range r.events() {
		got = append(got, lines.Render(e)...)
	}
	equal(t, append(got, lines.Flush()...), []string{
		"12:00:01 #1 I will look.", "12:00:03 #1 Then more", "12:00:05 #1 -> ls", "12:00:06 #1 left over", "12:00:07 #2 new",
	})
}

func TestANewDayIsTold(t *testing.T) {
	r := newRecord(t)
	r.add(0, rundir.EventNote, 0, rundir.Note{Text: "a"})
	r.add(13*time.Hour, rundir.EventNote, 0, rundir.Note{Text: "b"})
	lines := NewLines(Options{Zone: time.UTC})
	var got []string
	for _, e := range r.events() {
		got = append(got, lines.Render(e)...)
	}
	equal(t, got, []string{"12:00:00 note: a", "--- 2026-11-16", "01:00:00 note: b"})
}

func TestColoursAreAroundTheText(t *testing.T) {
	r := newRecord(t)
	r.add(0, rundir.EventStop, 0, rundir.Stop{Status: rundir.Failed, Reason: "a\x1b[0mb"})
	got := NewLines(Options{Color: true, Zone: time.UTC}).Render(r.events()[0])
	equal(t, got, []string{"\x1b[2m12:00:00 \x1b[0m\x1b[31mrun ends: error: a [0mb\x1b[0m"})
}
