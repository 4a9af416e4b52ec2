package stream

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/rundir"
)

// busy is a record as an agent writes it that prints a lot.
func busy(b *testing.B, events int) *rundir.Reader {
	r := newRecord(b)
	r.add(0, rundir.EventStart, 0, rundir.Start{Agent: "claude", Engine: "gvisor"})
	r.add(0, rundir.EventBegin, 1, rundir.Begin{Attempt: 1})
	text := strings.Repeat("some words that an agent says ", 5)
	for i := range events / 4 {
		r.add(0, rundir.EventAgent, 1, agent.Event{Kind: agent.Text, Text: text, Delta: i%2 == 0})
		r.add(0, rundir.EventAgent, 1, agent.Event{Kind: agent.ToolCall, Tool: "Bash", Input: `{"command":"go test ./..."}`})
		r.add(0, rundir.EventAgent, 1, agent.Event{Kind: agent.ToolResult, Text: text + text})
		r.add(0, rundir.EventAgent, 1, agent.Event{Kind: agent.UsageEvent, Usage: &agent.Usage{Input: 1}})
	}
	reader := r.reader()
	must(b, r.Close())
	return reader
}

func BenchmarkFollow(b *testing.B) {
	const events = 100_000
	reader := busy(b, events)
	size := func() (int, int) { return 80, 24 }
	for name, view := range map[string]func() error{
		"reader-alone": func() error {
			for _, err := range reader.Events(1) {
				must(b, err)
			}
			return nil
		},
		"live":    func() error { return Live(context.Background(), io.Discard, size, reader, 1) },
		"plain":   func() error { return Plain(context.Background(), io.Discard, reader, 1, Options{}) },
		"verbose": func() error { return Plain(context.Background(), io.Discard, reader, 1, Options{Verbose: true}) },
		"json":    func() error { return Print(context.Background(), io.Discard, reader, Query{JSON: true}) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				must(b, view())
			}
			b.ReportMetric(float64(b.N)*events/b.Elapsed().Seconds(), "events/s")
		})
	}
}
