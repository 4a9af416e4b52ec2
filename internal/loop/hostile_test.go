package loop

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/rundir"
)

// flood writes a text again and again, until there were so many bytes.
func flood(text string, size int64) act {
	block := []byte(strings.Repeat(text, max(1, 256<<10/len(text))))
	return func(_ context.Context, p *process) int {
		for written := int64(0); written < size; written += int64(len(block)) {
			if _, err := p.Stdout.Write(block); err != nil {
				return 1
			}
		}
		return 0
	}
}

// peak watches how much memory is in use, and returns a function that tells the most.
func peak() func() uint64 {
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	var most atomic.Uint64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			if now.HeapAlloc > before.HeapAlloc {
				most.Store(max(most.Load(), now.HeapAlloc-before.HeapAlloc))
			}
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		close(done)
		<-ended
		return most.Load()
	}
}

// However much an agent prints, and in what shape, memory and record stay small.
func TestFloods(t *testing.T) {
	for name, tt := range map[string]struct {
		agent string
		act   act
		most  uint64 // MiB of memory
	}{
		"a line of 100 MB":         {"command", flood("x", 100<<20), 64},
		"many lines":               {"command", flood(strings.Repeat("words ", 1000)+"\n", 1<<30), 64},
		"empty lines":              {"command", flood("\n", 2<<20), 64},
		"one result after another": {"claude", flood(good("done")+"\n", 72<<20), 64},
		"a line of many blocks":    {"claude", flood(`{"type":"assistant","message":{"content":[`+strings.Repeat(`{},`, 20_000)+`{}]}}`+"\n", 4<<20), 192},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "a line of 100 MB" && (raceDetector || testing.Short()) {
				t.Skip("too slow here")
			}
			r := newRig(t, then(tt.act, says("\nbye")))
			r.loop.Agent = find(t, tt.agent)
			r.loop.State.Limits.MaxIterations = 1
			used := peak()
			r.expect(rundir.Limit, "", 1)
			if most := used() >> 20; most > tt.most {
				t.Errorf("it took %d MiB of memory", most)
			}
			info, err := os.Stat(filepath.Join(r.loop.Run.Path(), "logs", "events.jsonl"))
			must(t, err)
			if most := int64(2 * maxRecorded); info.Size() > most {
				t.Errorf("the record takes %d MiB", info.Size()>>20)
			}
			if name == "many lines" && len(events[rundir.Output](r, rundir.EventOutput)) != 1 {
				t.Error("that something is missing is not told")
			}
		})
	}
}

// The standard error of an agent is recorded, as far as it is of use.
func TestStandardError(t *testing.T) {
	r := newRig(t)
	r.script(func(ctx context.Context, p *process) int {
		fmt.Fprint(p.Stderr, "a warning\n\nnot \xff text\n")
		line := bytes.Repeat([]byte("e"), 100_000)
		_, _ = p.Stderr.Write(append(line, '\n'))
		for range 20 {
			_, _ = p.Stderr.Write(bytes.Repeat([]byte("!\n"), 50_000))
		}
		fmt.Fprint(p.Stderr, "no end")
		return says(complete)(ctx, p)
	})
	r.expect(rundir.Done, "", 1)
	lines := events[rundir.Text](r, rundir.EventAgentError)
	if lines[0].Text != "a warning" || string(lines[1].Base64) != "not \xff text" || len(lines[2].Text) != maxStderrLine {
		t.Errorf("recorded: %.100q %.100q %d bytes", lines[0].Text, lines[1].Base64, len(lines[2].Text))
	}
	if len(lines) > maxStderr/perEvent {
		t.Errorf("%d lines are recorded", len(lines))
	}
	if o := events[rundir.Output](r, rundir.EventOutput); len(o) != 1 || o[0].Bytes < 1_000_000-maxStderr/perEvent {
		t.Errorf("missing is told as %+v", o)
	}
}

// Output of any shape is recorded, and judged by what it is.
func TestHostileOutput(t *testing.T) {
	for name, tt := range map[string]struct {
		agent   string
		text    string
		verdict agent.Verdict
		status  rundir.Status
	}{
		"not UTF-8":                   {"command", "\xff\xfe\x80 words " + complete + "\n", agent.OK, rundir.Done},
		"escape sequences":            {"command", "\x1b[2J\x1b]0;title\x07" + complete + "\n", agent.OK, rundir.Done},
		"NULs":                        {"command", "\x00\x00" + complete + "\x00\n", agent.OK, rundir.Done},
		"no line feed at the end":     {"command", complete, agent.OK, rundir.Done},
		"carriage returns":            {"command", "working\rdone\r\n" + complete + "\r\n", agent.OK, rundir.Done},
		"nothing to see":              {"command", "\x1b \x00 \u202e \n\n", "", rundir.Failed},
		"deep JSON":                   {"claude", strings.Repeat("[", 100_000) + "\n" + good(complete), agent.OK, rundir.Done},
		"a result without line feed":  {"claude", good(complete), agent.OK, rundir.Done},
		"after the result":            {"claude", good(complete) + "\nnot JSON \xff\n{\"type\":\"system\"}\n", agent.OK, rundir.Done},
		"words that are not its last": {"claude", `{"type":"user","message":{"content":[{"type":"tool_result","content":"` + complete + `"}]}}` + "\n" + good("more"), agent.OK, rundir.Limit},
		"a tag in the middle":         {"command", "I must not say " + complete + " yet\n", agent.OK, rundir.Done}, // that is what tags are
		"hostile reason":              {"claude", result("error_during_execution", "", `"is_error":true,"errors":["\u001b[2J\u0000 boom \ud800"]`), agent.Failed, rundir.Limit},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, prints(tt.text, 0))
			r.loop.Agent = find(t, tt.agent)
			r.loop.State.Limits.MaxIterations = 1
			iterations := 1
			if tt.verdict == "" {
				iterations = 0
			}
			r.expect(tt.status, "", iterations)
			for _, it := range r.iterations() {
				if it.Outcome != string(tt.verdict) || strings.ContainsAny(it.Reason, "\x1b\x00") {
					t.Errorf("recorded as %q: %q", it.Outcome, it.Reason)
				}
			}
			if len(events[jsontext.Value](r, rundir.EventAgent)) == 0 {
				t.Error("nothing is recorded")
			}
		})
	}
}

// The middle of what a validation says is what can be missed.
func TestCapture(t *testing.T) {
	c := &capture{}
	fmt.Fprint(c, "first\n")
	for range 1000 {
		_, _ = c.Write(bytes.Repeat([]byte("middle\n"), 1000))
	}
	fmt.Fprint(c, "last")
	text := c.text()
	if !strings.HasPrefix(text, "first\n") || !strings.HasSuffix(text, "middle\nlast") || !strings.Contains(text, "bytes left out") {
		t.Errorf("got %.40q ... %q", text, text[len(text)-40:])
	}
	if len(text) > 4*maxCaptured {
		t.Errorf("%d bytes are kept", len(text))
	}
	small := &capture{}
	fmt.Fprint(small, strings.Repeat("x", maxCaptured+10))
	if got := small.text(); got != strings.Repeat("x", maxCaptured+10) {
		t.Errorf("%d bytes of %d", len(got), maxCaptured+10)
	}
}
