package loop

import (
	"fmt"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/rundir"
)

// spent tells whether a limit of the whole run is reached.
func (r *runner) spent() (rundir.Stop, bool) {
	limits, spend := r.State.Limits, r.Run.Spent()
	reason := ""
	switch {
	case limits.MaxIterations > 0 && r.Run.Iterated() >= limits.MaxIterations:
		reason = fmt.Sprintf("the limit of %d iterations is reached", limits.MaxIterations)
	case limits.MaxCostUSD > 0 && spend.CostUSD >= limits.MaxCostUSD:
		reason = fmt.Sprintf("the budget of %v is spent", limits.MaxCostUSD)
	case limits.MaxTokens > 0 && spend.Tokens.Total() >= limits.MaxTokens:
		reason = fmt.Sprintf("the limit of %d tokens is reached", limits.MaxTokens)
	case limits.MaxTimeSeconds > 0 && r.timeLeft() <= 0:
		reason = fmt.Sprintf("the time of %v is over", maxTime(limits))
	}
	return rundir.Stop{Status: rundir.Limit, Reason: reason}, reason != ""
}

// timeLeft is what is left of the run's time; only where that is limited.
func (r *runner) timeLeft() time.Duration { return maxTime(r.State.Limits) - r.used() }

func maxTime(l rundir.Limits) time.Duration { return time.Duration(l.MaxTimeSeconds) * time.Second }

// left tells an agent what is left of the budgets.
func (r *runner) left(n int) string {
	limits, spend := r.State.Limits, r.Run.Spent()
	var parts []string
	if limits.MaxIterations > 0 {
		parts = append(parts, fmt.Sprintf("iteration %d of %d", n, limits.MaxIterations))
	}
	if limits.MaxCostUSD > 0 {
		parts = append(parts, fmt.Sprintf("%v of %v spent", spend.CostUSD, limits.MaxCostUSD))
	}
	if limits.MaxTokens > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d tokens used", spend.Tokens.Total(), limits.MaxTokens))
	}
	if limits.MaxTimeSeconds > 0 {
		parts = append(parts, fmt.Sprintf("%v of %v used", r.used().Round(time.Minute), maxTime(limits)))
	}
	if len(parts) == 0 {
		return "no limits"
	}
	return strings.Join(parts, ", ")
}
