package stream

import (
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/rundir"
)

// attacks are texts that must not do to a terminal what they try.
var attacks = map[string]string{
	"title":       "\x1b]0;owned\x07text",
	"clear":       "\x1b[2J\x1b[Htext",
	"c1":          "a\u009b31mtext\u0090q\u009c",
	"backspace":   "safe\b\b\b\brm -rf\r\x7ftext",
	"bidi":        "a\u202etxet\u2066\u2069\u200f",
	"hidden":      "te\u200b\u200d\u2060\ufeff\u00adxt\U000e0041",
	"line ends":   "one\u2028two\u2029three\vfour\ffive\u0085six",
	"marks":       "e" + strings.Repeat("\u0301", 5000),
	"not UTF-8":   "\xff\xfe\x1b[31m text \xc3\x28",
	"long":        strings.Repeat("word ", 180_000),
	"wide":        strings.Repeat("漢", 5000),
	"newlines":    strings.Repeat("\n", 5000) + "text",
	"surrogate":   "\xed\xa0\x80text",
	"nul":         "a\x00b",
	"private use": "\ue000\U0010ffff",
}

// everywhere puts a text in all places of an event that can hold one.
func everywhere(text string) map[string]any {
	list := []string{text, text}
	return map[string]any{
		rundir.EventStart:      rundir.Start{Agent: text, Model: text, Engine: text, Notes: list},
		rundir.EventStop:       rundir.Stop{Status: rundir.Status(strings.ToValidUTF8(text, "?")), Reason: text},
		rundir.EventLaunch:     rundir.Launch{Engine: text, Version: text, Boundary: text, Image: text, Network: text, Policy: text, Permission: text},
		rundir.EventLanded:     rundir.Landed{Sandbox: text, Reason: text, Error: text},
		rundir.EventBegin:      rundir.Begin{Task: text, TaskTitle: text},
		rundir.EventAgent:      agent.Event{Kind: agent.ToolCall, Tool: text, Input: text, Text: text},
		rundir.EventAgentExit:  rundir.AgentExit{Why: text},
		rundir.EventAgentError: rundir.Text{Base64: []byte(text)},
		rundir.EventGate:       gate.Event{Method: text, Host: text, Path: text, Reason: text, Rule: text, Code: text},
		rundir.EventImport:     rundir.Import{Branch: text, To: text, Protected: list, Links: list, Held: text, Refused: text},
		rundir.EventRewind:     rundir.Rewind{To: 1, Commit: text},
		rundir.EventPush:       rundir.Push{Remote: text, Branch: text, Commit: text, Error: text},
		rundir.EventValidation: rundir.Validation{Command: text, Output: text, Error: text, Trusted: list, Commit: text},
		rundir.EventOutcome:    rundir.Outcome{Verdict: text, Reason: text, Claims: text},
		rundir.EventTask:       rundir.Tasks{File: text, Changes: list, Violations: list},
		rundir.EventWait:       rundir.Wait{Why: text, Until: start.Add(time.Hour)},
		rundir.EventBreaker:    rundir.Breaker{State: text, Why: text},
		rundir.EventQuestion:   rundir.Question{Kind: text, Text: text, File: text},
		rundir.EventAnswer:     rundir.Answer{Answer: text},
		rundir.EventRequest:    rundir.Asked{Request: rundir.Request(strings.ToValidUTF8(text, "?")), By: text},
		rundir.EventNotify:     rundir.Notified{Channel: text, About: text, Error: text},
		rundir.EventNote:       rundir.Note{Text: text},
		"other":                map[string]string{"a": text},
	}
}

func TestNothingThatATerminalObeysIsShown(t *testing.T) {
	for name, text := range attacks {
		t.Run(name, func(t *testing.T) {
			r := newRecord(t)
			all, list := everywhere(text), []string{text, text}
			for kind, data := range all {
				r.add(0, kind, 1, data)
			}
			for _, kind := range []agent.EventKind{agent.Text, agent.Thinking, agent.ToolResult, agent.Result, agent.ErrorEvent, agent.Raw, agent.Init} {
				r.add(0, rundir.EventAgent, 1, agent.Event{Kind: kind, Text: text, Code: text, Session: text, Raw: []byte(text)})
			}
			r.add(0, rundir.EventAgent, 1, agent.Event{Kind: agent.Text, Delta: true, Text: text})
			r.add(0, rundir.EventImport, 1, rundir.Import{Branch: text, To: text, Protected: list, Links: list, Held: text})
			for _, v := range []rundir.Verdict{rundir.Verified, rundir.NotVerified, rundir.Unverifiable} {
				r.add(0, rundir.EventValidation, 1, rundir.Validation{Confirms: true, Outcome: v, Command: text, Commit: text, Output: text, Error: text, Trusted: list})
			}
			must(t, r.AppendRaw(rundir.EventAgent, 1, []byte(text)))
			for _, width := range []int{0, 20, 80} {
				checkAllSafe(t, r.events(), width)
			}
		})
	}
}

// checkAllSafe looks at every line that the events can make.
func checkAllSafe(t testing.TB, events []rundir.Event, width int) {
	t.Helper()
	calm := NewLines(Options{Width: width, Zone: time.UTC})
	verbose := NewLines(Options{Width: width, Zone: time.UTC, Verbose: true})
	model := NewModel("id")
	for _, e := range events {
		model.Apply(e)
		for _, line := range append(append(calm.Render(e), calm.Flush()...), verbose.Render(e)...) {
			checkSafe(t, line, verbose.options.columns())
		}
		for _, line := range model.View(start, width) {
			checkSafe(t, line, max(0, width-1))
		}
	}
}

// TestTextThatIsNotUTF8IsStillRead: the record keeps such strings in another shape.
func TestTextThatIsNotUTF8IsStillRead(t *testing.T) {
	r := newRecord(t)
	r.add(0, rundir.EventAgent, 1, agent.Event{Kind: agent.ToolCall, Tool: "Bash", Input: "ls \xff"})
	r.add(0, rundir.EventStop, 0, rundir.Stop{Status: rundir.Failed, Reason: "bad \xff byte"})
	r.add(0, rundir.EventAgentError, 0, rundir.Text{Base64: []byte("x\xff")})
	lines := NewLines(Options{Zone: time.UTC})
	var got []string
	for _, e := range r.events() {
		got = append(got, lines.Render(e)...)
	}
	equal(t, got, []string{"12:00:00 #1 -> Bash ls \uFFFD", "12:00:00 run ends: error: bad \uFFFD byte", "12:00:00 stderr: x\uFFFD"})
}

func TestDataThatWasClippedIsTold(t *testing.T) {
	r := newRecord(t)
	r.add(0, rundir.EventNote, 0, rundir.Note{Text: strings.Repeat("long ", 1<<20)})
	got := NewLines(Options{Width: 60, Zone: time.UTC}).Render(r.events()[0])
	equal(t, got, []string{`12:00:00 note of 5.2 MB, not kept whole: {"text":"long long…`})
}
