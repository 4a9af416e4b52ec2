package view

import (
	"fmt"
	"io"
	"time"

	"github.com/agent-loop/ralph/internal/rundir"
)

// List prints runs as a table, in the order given, for a screen of so many
// columns; 0 for no screen.
func List(out io.Writer, runs []rundir.Summary, now time.Time, screen int) error {
	var t table
	t.row("ID", "STATUS", "AGENT", "ITER", "COST", "STARTED", "REASON")
	for _, s := range runs {
		if s.Broken != "" {
			t.row(s.ID, string(Broken), "", "", "", "", s.Broken)
			continue
		}
		t.row(s.ID, string(StatusOf(s)), s.Agent, ofLimit(s.Iteration, s.Limits.MaxIterations),
			Dollars(s.CostUSD), Age(s.StartedAt, now), Reason(s))
	}
	return t.write(out, screen)
}

func ofLimit(n, limit int) string {
	if limit <= 0 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d/%d", n, limit)
}
