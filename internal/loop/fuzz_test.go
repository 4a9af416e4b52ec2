package loop

import (
	"context"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/rundir"
)

// testRunner is one that records, and does nothing else.
func testRunner(t testing.TB) (*runner, string) {
	t.Helper()
	root := t.TempDir()
	run, err := rundir.Create(root, runID, struct{}{}, rundir.Options{})
	must(t, err)
	t.Cleanup(func() { run.Close() })
	_, cancel := context.WithCancelCause(t.Context())
	return &runner{Loop: &Loop{Run: run, State: rundir.State{Status: rundir.Running}}, cancel: cancel}, root
}

// Whatever an agent prints, in whatever pieces: it is recorded, all of it is
// accounted for, and the record verifies.
func FuzzAgentOutput(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "words\n", "\xff\xfe", "\x00\n\x00", "\x1b[2J", "{", `{"type":`, strings.Repeat("[", 3000),
		good(complete) + "\n", good(complete) + "\nmore", `{"type":"result","num_turns":1e400}`,
		`{"type":"assistant","error":"rate_limit","message":{"content":[{"type":"text","text":"limit"}]}}` + "\n",
		`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":99999999999}}` + "\n",
		`{"type":"assistant","message":{"content":[{},{"type":"tool_use","input":"\ud800"}]}}` + "\n",
	} {
		f.Add([]byte(seed), []byte("warning\n"), uint8(3), uint8(0))
		f.Add([]byte(seed), []byte(seed), uint8(100), uint8(1))
	}
	names := agent.Names()
	f.Fuzz(func(t *testing.T, text, errors []byte, piece, who uint8) {
		r, root := testRunner(t)
		out := newOutput(r, 1, find(t, names[int(who)%len(names)]).Parser())
		for rest := text; len(rest) > 0; {
			n := min(len(rest), int(piece)+1)
			if wrote, err := out.Write(rest[:n]); wrote != n || err != nil {
				t.Fatalf("wrote %d of %d: %v", wrote, n, err)
			}
			rest = rest[n:]
		}
		_, err := out.errors().Write(errors)
		must(t, err)
		summary := out.close()
		rig := &rig{t: t, loop: r.Loop}
		size := int64(0)
		for _, e := range events[struct {
			Size int64 `json:"size"`
		}](rig, rundir.EventAgent) {
			size += e.Size
		}
		if size != int64(len(text)) {
			t.Errorf("%d bytes are recorded of %d", size, len(text))
		}
		for _, o := range []agent.Exit{{}, {Code: 1}, {Lingered: true}, {TimedOut: true}} {
			for _, name := range names {
				if got := find(t, name).Outcome(o, agent.Gate{}, summary, agent.Tags{}); got.Verdict == "" {
					t.Errorf("%s has no verdict", name)
				}
			}
		}
		must(t, r.save())
		if _, err := rundir.Verify(root, runID); err != nil {
			t.Error(err)
		}
	})
}

// A question file and what is read of it: the question never leaks into the answer.
func FuzzQuestion(f *testing.F) {
	f.Add("red or blue?", "blue")
	f.Add("a\n---\nb", "c\n---\nd")
	f.Add("\r\n---\r\n", "\x00")
	f.Add(howToAnswer, howToAnswer)
	f.Fuzz(func(t *testing.T, question, answer string) {
		r, _ := testRunner(t)
		it := &iteration{n: 1}
		it.attempt.outcome.Marker = agent.Marker{Kind: agent.DecideMarker, Text: question}
		r.putQuestion(it)
		if got, err := ReadAnswer(r.Run.Path()); got != "" || err != nil {
			t.Fatalf("nobody answered: %q, %v", got, err)
		}
		if len(answer) > maxAnswer/2 || len(question) > maxAnswer/4 {
			return
		}
		must(t, WriteAnswer(r.Run.Path(), answer))
		want := strings.TrimSpace(strings.ReplaceAll(answer, "\r\n", "\n"))
		if got, err := ReadAnswer(r.Run.Path()); got != want || err != nil {
			t.Errorf("answered %q, read %q, %v", answer, got, err)
		}
	})
}
