package view

import (
	"fmt"
	"time"

	"github.com/agent-loop/ralph/internal/money"
	"github.com/agent-loop/ralph/internal/rundir"
)

// Next returns the commands that go on from here, the likeliest first. The question
// is the agent's, if it asked one.
func Next(s rundir.Summary, question string) []string {
	resume := "ralph resume " + Quoted(s.ID)
	switch StatusOf(s) {
	case Broken:
		return []string{"ralph verify " + Quoted(s.ID)}
	case rundir.Done:
		if HasWork(s.State) {
			next := []string{"ralph diff " + Quoted(s.ID)}
			if !s.State.InPlace { // where it has been applied all along
				next = append(next, "ralph apply "+Quoted(s.ID))
			}
			return next
		}
		return nil
	case rundir.Limit:
		return []string{resume + more(s.State)}
	case rundir.Stopped: // or taken back, with all that it may use used up
		return []string{resume + usedUp(s.State)}
	case rundir.NeedsAttention:
		if question != "" {
			return []string{resume + ` --answer "..."`}
		}
	case rundir.Failed:
		return []string{"ralph logs " + Quoted(s.ID), resume}
	case rundir.Paused, rundir.Running:
		if s.Live {
			return []string{"ralph logs -f " + Quoted(s.ID), "ralph stop " + Quoted(s.ID)}
		}
	}
	return []string{resume}
}

// use is how much of one limit is used.
type use struct {
	share float64 // 1 is all of it
	flag  string  // what gives as much again
}

// more is the flag that gives a run more of what it has used up: all limits that
// are reached, or the one that is nearest. A budget ends a run before its last
// cent is spent.
func more(s rundir.State) string {
	if flags := usedUp(s); flags != "" {
		return flags
	}
	nearest := use{}
	for _, u := range uses(s) {
		if u.share > nearest.share {
			nearest = u
		}
	}
	if nearest.flag == "" {
		return ""
	}
	return " " + nearest.flag
}

// usedUp is the flags that give more of what is used up altogether.
func usedUp(s rundir.State) (flags string) {
	for _, u := range uses(s) {
		if u.share >= 1 {
			flags += " " + u.flag
		}
	}
	return flags
}

func uses(s rundir.State) (all []use) {
	if l := s.Limits.MaxCostUSD; l > 0 {
		dollars := min(l, money.Most/2) * 2 / money.Dollar
		all = append(all, use{float64(s.CostUSD) / float64(l), fmt.Sprintf("--max-cost-usd %d", max(dollars, 1))})
	}
	if l := s.Limits.MaxIterations; l > 0 {
		all = append(all, use{float64(s.Iteration) / float64(l), fmt.Sprintf("--max-iterations %d", 2*uint(l))})
	}
	if l := s.Limits.MaxTokens; l > 0 {
		all = append(all, use{float64(s.Tokens.Total()) / float64(l), fmt.Sprintf("--max-tokens %d", 2*uint64(l))})
	}
	if l := s.Limits.MaxTimeSeconds; l > 0 {
		all = append(all, use{float64(s.ElapsedSeconds) / float64(l), "--max-time " + flagTime(min(seconds(l), 1<<61)*2)})
	}
	return all
}

// flagTime is a time as a flag takes it, without units that are zero.
func flagTime(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}
