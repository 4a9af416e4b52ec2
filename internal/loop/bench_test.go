package loop

import (
	"fmt"
	"testing"

	"github.com/agent-loop/ralph/internal/rundir"
)

// How many events of an agent are parsed and recorded in a second.
func BenchmarkEvents(b *testing.B) {
	line := []byte(`{"type":"assistant","session_id":"0199","parent_tool_use_id":null,"message":{"id":"msg_1","model":"claude-sonnet-5","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"go test ./...","description":"Run the tests"}}]}}` + "\n")
	r, _ := testRunner(b)
	out := newOutput(r, 1, find(b, "claude").Parser())
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if out.recorded > maxRecorded-1<<20 {
			out.recorded = 0 // to record all of them
		}
		if _, err := out.Write(line); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// What the loop itself takes for an iteration.
func BenchmarkIteration(b *testing.B) {
	for _, keep := range []bool{false, true} {
		b.Run(fmt.Sprintf("keep=%v", keep), func(b *testing.B) {
			r := newRig(b, says("more"))
			r.loop.Rules.KeepSandbox = keep
			r.loop.State.Limits.MaxIterations = b.N
			b.ResetTimer()
			stop, err := r.loop.Execute(b.Context())
			if err != nil || stop.Status != rundir.Limit {
				b.Fatalf("ended %+v, %v", stop, err)
			}
		})
	}
}
