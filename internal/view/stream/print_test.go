package stream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/rundir"
)

// story is a record with two iterations.
func story(t testing.TB) *record {
	r := newRecord(t)
	for n := 1; n <= 2; n++ {
		r.add(time.Second, rundir.EventBegin, n, rundir.Begin{Attempt: 1})
		r.add(0, rundir.EventAgent, n, agent.Event{Kind: agent.Thinking, Text: "\u202ehm"})
		r.add(0, rundir.EventNote, n, rundir.Note{Text: "well"})
		r.iterated(time.Second, n, "ok")
	}
	return r
}

func TestPrintSelects(t *testing.T) {
	begin1, begin2 := "12:00:01 #1 iteration 1 begins", "12:00:03 #2 iteration 2 begins"
	end1, end2 := "12:00:02 #1 iteration 1 ends: ok · 1s · $0.00", "12:00:04 #2 iteration 2 ends: ok · 1s · $0.00"
	for name, test := range map[string]struct {
		query Query
		want  []string
	}{
		"all":                {Query{}, []string{begin1, "12:00:01 #1 note: well", end1, begin2, "12:00:03 #2 note: well", end2}},
		"the last":           {Query{Last: 2}, []string{"12:00:03 #2 note: well", end2}},
		"more than there is": {Query{Last: int(^uint(0) >> 1)}, []string{begin1, "12:00:01 #1 note: well", end1, begin2, "12:00:03 #2 note: well", end2}},
		"an iteration":       {Query{Iteration: 2}, []string{begin2, "12:00:03 #2 note: well", end2}},
		"a type":             {Query{Types: []string{rundir.EventIteration}}, []string{end1, end2}},
		"types":              {Query{Types: []string{rundir.EventIteration, rundir.EventNote}, Last: 1, Iteration: 1}, []string{end1}},
		"nothing":            {Query{Types: []string{"no.such"}}, nil},
		"verbose":            {Query{Options: Options{Verbose: true}, Types: []string{rundir.EventAgent}}, []string{"12:00:01 #1 hm", "12:00:03 #2 hm"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			test.query.Zone = time.UTC
			must(t, Print(t.Context(), &out, story(t).reader(), test.query))
			equal(t, strings.Split(strings.TrimSpace(out.String()), "\n"), append([]string{}, test.want...))
		})
	}
}

func TestPrintAsRecorded(t *testing.T) {
	r := story(t)
	large := strings.Repeat("x", rundir.MaxLine-8<<10)
	r.add(0, "large", 0, large)
	r.add(0, "large", 0, large)
	recorded, err := os.ReadFile(filepath.Join(r.reader().Path(), "logs", "events.jsonl"))
	must(t, err)
	var out bytes.Buffer
	must(t, Print(t.Context(), &out, r.reader(), Query{JSON: true}))
	if !bytes.Equal(out.Bytes(), recorded) {
		t.Errorf("%d bytes of %d, or others", out.Len(), len(recorded))
	}
	out.Reset()
	must(t, Print(t.Context(), &out, r.reader(), Query{JSON: true, Types: []string{rundir.EventAgent}, Last: 1}))
	line := strings.TrimSuffix(out.String(), "\n")
	if !strings.Contains(line, "\u202ehm") || strings.Contains(line, "\n") || !bytes.Contains(recorded, []byte(line)) {
		t.Errorf("got %q", line)
	}
	out.Reset()
	must(t, Print(t.Context(), &out, r.reader(), Query{JSON: true, Options: Options{Width: 80}, Types: []string{rundir.EventAgent}, Last: 1}))
	if want := strings.ReplaceAll(line, "\u202e", `\u202e`) + "\n"; out.String() != want {
		t.Errorf("on a terminal: %q, want %q", out.String(), want)
	}
}

func TestVisibleMeansTheSame(t *testing.T) {
	if got, want := visible("{\"a\":\"\x7f\u009bé漢\u2028\U000e0001😀\"}"), `{"a":"\u007f\u009bé漢\u2028\udb40\udc01😀"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// lines reads what a follower prints, line by line.
func following(t *testing.T, print func(io.Writer) error) (next func() string, done chan error) {
	in, out := io.Pipe()
	done = make(chan error, 1)
	lines := make(chan string)
	go func() {
		done <- print(out)
		out.Close()
	}()
	go func() {
		defer close(lines)
		var all []byte
		for piece := make([]byte, 4096); ; {
			n, err := in.Read(piece)
			all = append(all, piece[:n]...)
			for {
				line, rest, ok := bytes.Cut(all, []byte("\n"))
				if !ok {
					break
				}
				lines <- string(line)
				all = rest
			}
			if err != nil {
				return
			}
		}
	}()
	return func() string {
		select {
		case line := <-lines:
			return line
		case <-time.After(30 * time.Second):
			t.Fatal("no line came")
			return ""
		}
	}, done
}

func TestPrintFollowsUntilTheWriterIsGone(t *testing.T) {
	r := story(t)
	reader := r.reader()
	next, done := following(t, func(out io.Writer) error {
		return Print(t.Context(), out, reader, Query{Follow: true, Last: 1, Options: Options{Zone: time.UTC}})
	})
	if got := next(); got != "12:00:04 #2 iteration 2 ends: ok · 1s · $0.00" {
		t.Errorf("got %q", got)
	}
	for _, text := range []string{"one", "two"} {
		r.add(0, rundir.EventNote, 0, rundir.Note{Text: text})
		if got := next(); got != "12:00:04 note: "+text {
			t.Errorf("got %q", got)
		}
	}
	must(t, r.Close(), <-done)
}

func TestCtrlCEndsFollowingInPeaceAndAllElseAtOnce(t *testing.T) {
	r := story(t)
	ctx, cancel := context.WithCancel(t.Context())
	reader := r.reader()
	next, done := following(t, func(out io.Writer) error {
		return Print(ctx, out, reader, Query{Follow: true, JSON: true})
	})
	next()
	cancel()
	go func() {
		for next() != "" {
		}
	}()
	must(t, <-done)
	if err := Print(ctx, io.Discard, reader, Query{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestPlainPrintsAllThatIsThereWhenItsContextEnds even when it had no time to
// begin: a run that is over is told to its end.
func TestPlainPrintsAllThatIsThereWhenItsContextEnds(t *testing.T) {
	r := story(t)
	r.add(0, rundir.EventAgent, 2, agent.Event{Kind: agent.Text, Delta: true, Text: "last words"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	must(t, Plain(ctx, &out, r.reader(), 7, Options{Zone: time.UTC}))
	equal(t, strings.Split(strings.TrimSpace(out.String()), "\n"), []string{
		"12:00:03 #2 iteration 2 begins", "12:00:03 #2 note: well", "12:00:04 #2 iteration 2 ends: ok · 1s · $0.00", "12:00:04 #2 last words",
	})
}

func TestAnOutputThatFailsEndsIt(t *testing.T) {
	for name, err := range map[string]error{
		"plain": Plain(t.Context(), brokenTerminal{}, closed(t), 1, Options{}),
		"print": Print(t.Context(), brokenTerminal{}, closed(t), Query{}),
		"last":  Print(t.Context(), brokenTerminal{}, closed(t), Query{Last: 2}),
		"json":  Print(t.Context(), brokenTerminal{}, closed(t), Query{JSON: true}),
	} {
		if !errors.Is(err, errGone) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestFollowingEndsWithItsOutput at once, and not when there is more to print.
func TestFollowingEndsWithItsOutput(t *testing.T) {
	r := story(t)
	if err := Print(t.Context(), brokenTerminal{}, r.reader(), Query{Follow: true}); !errors.Is(err, errGone) {
		t.Errorf("print: got %v", err)
	}
	if err := Plain(t.Context(), brokenTerminal{}, r.reader(), 1, Options{}); !errors.Is(err, errGone) {
		t.Errorf("plain: got %v", err)
	}
}

// closed is a record that nobody writes any more.
func closed(t *testing.T) *rundir.Reader {
	r := story(t)
	reader := r.reader()
	must(t, r.Close())
	return reader
}

func TestADamagedRecordIsAnError(t *testing.T) {
	reader := closed(t)
	path := filepath.Join(reader.Path(), "logs", "events.jsonl")
	must(t, os.WriteFile(path, []byte("{\"seq\":1}\n"), 0o600))
	var damaged *rundir.BadRecordError
	for _, query := range []Query{{}, {JSON: true}, {Last: 1}, {Follow: true}} {
		if err := Print(t.Context(), io.Discard, reader, query); !errors.As(err, &damaged) {
			t.Errorf("%+v: got %v", query, err)
		}
	}
	size := func() (int, int) { return 80, 24 }
	if err := Live(t.Context(), io.Discard, size, reader, 1); !errors.As(err, &damaged) {
		t.Errorf("live: got %v", err)
	}
}
