package view

import (
	"fmt"

	"github.com/agent-loop/ralph/internal/money"
	"github.com/agent-loop/ralph/internal/rundir"
)

// fact is one line of a summary: what is told, and its value, not safe yet.
type fact struct{ name, value string }

// usage is what a run has used of what it may use.
func usage(s rundir.State) []fact {
	return []fact{
		{"iterations", of(fmt.Sprint(s.Iteration), s.Limits.MaxIterations > 0, fmt.Sprint(s.Limits.MaxIterations))},
		{"cost", of(Dollars(s.CostUSD), s.Limits.MaxCostUSD > 0, Dollars(s.Limits.MaxCostUSD))},
		{"tokens", of(Count(s.Tokens.Total()), s.Limits.MaxTokens > 0, Count(s.Limits.MaxTokens)) + kinds(s.Tokens)},
		{"time", of(Duration(seconds(s.ElapsedSeconds)), s.Limits.MaxTimeSeconds > 0, Duration(seconds(s.Limits.MaxTimeSeconds)))},
	}
}

func of(used string, limited bool, limit string) string {
	if !limited {
		return used
	}
	return used + " of " + limit
}

func kinds(t rundir.Tokens) string {
	if t.Total() == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s in, %s out, %s from cache, %s to cache)",
		Count(t.Input), Count(t.Output), Count(t.CacheRead), Count(t.CacheWrite))
}

// limits says what a run may use.
func limits(l rundir.Limits) string {
	var parts []string
	if l.MaxCostUSD > 0 {
		parts = append(parts, Dollars(l.MaxCostUSD))
	}
	if l.MaxIterations > 0 {
		parts = append(parts, plural(l.MaxIterations, "iteration"))
	}
	if l.MaxTokens > 0 {
		parts = append(parts, Count(l.MaxTokens)+" tokens")
	}
	if l.MaxTimeSeconds > 0 {
		parts = append(parts, Duration(seconds(l.MaxTimeSeconds)))
	}
	if len(parts) == 0 {
		return "no limits"
	}
	return joined(", ", parts...)
}

// changes counts what the iterations did to the files. A file that two of them
// changed counts twice.
func changes(its []rundir.Iteration) string {
	files, commits := 0, 0
	for _, it := range its {
		files, commits = files+it.ChangedFiles, commits+len(it.Commits)
	}
	if commits == 0 {
		return plural(files, "file change")
	}
	return plural(files, "file change") + " in " + plural(commits, "commit")
}

// AgentDiffers compares what the gate charged with what the agent believes, over
// the iterations for which it has a figure. To be off by a cent is no difference.
func AgentDiffers(its []rundir.Iteration) (gate, agent money.USD, differs bool) {
	for _, it := range its {
		if it.AgentCostUSD > 0 {
			gate, agent = gate.Add(it.CostUSD), agent.Add(it.AgentCostUSD)
		}
	}
	return gate, agent, max(gate, agent)-min(gate, agent) > money.Cent
}

// lastValidation says how the last validation that ran came out.
func lastValidation(its []rundir.Iteration) (passed, ran bool) {
	for i := len(its) - 1; i >= 0; i-- {
		if v := its[i].Validated; v != nil {
			return *v, true
		}
	}
	return false, false
}
