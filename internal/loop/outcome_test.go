package loop

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/rundir"
)

// result is a last line of Claude Code.
func result(subtype, terminal, more string) string {
	return `{"type":"result","subtype":"` + subtype + `","terminal_reason":"` + terminal + `","num_turns":2,"session_id":"s",` + more + `}`
}

// good is the result of a session that ended well, with these words.
func good(words string) string {
	return result("success", "completed", `"is_error":false,"result":"`+words+`"`)
}

// Every verdict about the first attempt, and what the loop does with it. The second
// attempt always says that all is done, and is believed.
func TestWhatFollowsFromAnOutcome(t *testing.T) {
	limited := agent.Gate{Limited: true}
	for name, tt := range map[string]struct {
		first      string // what claude prints
		code       int
		saw        agent.Gate
		exhausted  bool
		status     rundir.Status
		reason     string
		iterations int
		verdicts   string // of all attempts
		recorded   string // of all iterations
	}{
		"ok":           {good("more"), 0, agent.Gate{}, false, rundir.Done, "all is done", 2, "ok ok", "ok ok"},
		"failed":       {result("error_during_execution", "", `"is_error":true`), 1, agent.Gate{}, false, rundir.Done, "", 2, "failed ok", "failed ok"},
		"killed":       {`{"type":"system"}`, 137, agent.Gate{}, false, rundir.Done, "", 2, "killed ok", "killed ok"},
		"max turns":    {result("error_max_turns", "max_turns", `"is_error":true`), 1, agent.Gate{}, false, rundir.Done, "", 2, "max-turns ok", "max-turns ok"},
		"context full": {result("success", "prompt_too_long", `"is_error":true`), 1, agent.Gate{}, false, rundir.Done, "", 2, "context-full ok", "context-full ok"},
		"refused":      {result("success", "completed", `"is_error":true,"stop_reason":"refusal"`), 0, agent.Gate{}, false, rundir.Done, "", 2, "refused ok", "refused ok"},
		"denied":       {result("success", "completed", `"result":"no","permission_denials":[{}]`), 0, agent.Gate{}, false, rundir.Done, "", 2, "denied ok", "denied ok"},
		"blocked":      {good("<promise>BLOCKED: no key</promise>"), 0, agent.Gate{}, false, rundir.NeedsAttention, "the agent is blocked: no key", 1, "blocked", "blocked"},
		"undecided":    {good("<promise>DECIDE: red or blue?</promise>"), 0, agent.Gate{}, false, rundir.NeedsAttention, "the agent asks: red or blue?", 1, "undecided", "undecided"},
		"empty":        {"", 0, agent.Gate{}, false, rundir.Done, "", 1, "empty ok", "ok"},

		"limited":                    {`{"type":"system"}`, 1, limited, false, rundir.Done, "", 1, "rate-limited ok", "ok"},
		"overloaded":                 {`{"type":"system"}`, 1, agent.Gate{Overloaded: true}, false, rundir.Done, "", 1, "overloaded ok", "ok"},
		"limited, but it finished":   {good("more"), 0, limited, false, rundir.Done, "", 2, "ok ok", "ok ok"},
		"limited, but it is blocked": {good("<blocked>no key</blocked>"), 0, limited, false, rundir.NeedsAttention, "blocked: no key", 1, "blocked", "blocked"},
		"unauthorised":               {`{"type":"system"}`, 1, agent.Gate{Unauthorised: true}, false, rundir.NeedsAttention, "refuses the credential", 0, "unauthorised", ""},
		"unfunded":                   {`{"type":"system"}`, 1, agent.Gate{Unfunded: true}, false, rundir.NeedsAttention, "no money left", 0, "unfunded", ""},
		"one call too dear":          {`{"type":"system"}`, 1, agent.Gate{BudgetSpent: true}, false, rundir.Done, "", 2, "budget-spent ok", "budget-spent ok"},
		"no money for any call":      {`{"type":"system"}`, 1, agent.Gate{BudgetSpent: true}, true, rundir.Limit, "no room for another call", 1, "budget-spent", "budget-spent"},
		"no money, but it finished":  {good("more"), 0, agent.Gate{BudgetSpent: true}, true, rundir.Done, "", 2, "ok ok", "ok ok"},
	} {
		bubble(t, name, func(t *testing.T) {
			r := newRig(t, prints(tt.first, tt.code), says(good(complete))).claude()
			r.loop.Rules.EmptyRetries = 1
			r.gate.saw, r.gate.exhausted = []agent.Gate{tt.saw}, tt.exhausted
			r.expect(tt.status, tt.reason, tt.iterations)
			var verdicts, recorded []string
			for _, o := range events[rundir.Outcome](r, rundir.EventOutcome) {
				verdicts = append(verdicts, o.Verdict)
			}
			for _, it := range r.iterations() {
				recorded = append(recorded, it.Outcome)
			}
			if got := strings.Join(verdicts, " "); got != tt.verdicts {
				t.Errorf("attempts ended %q, want %q", got, tt.verdicts)
			}
			if got := strings.Join(recorded, " "); got != tt.recorded {
				t.Errorf("recorded as %q, want %q", got, tt.recorded)
			}
		})
	}
}

// What keeps the loop from running at all is an error, not a person's stop.
func TestWhatEndsARunWithAnError(t *testing.T) {
	for name, tt := range map[string]struct {
		broken func(r *rig)
		reason string
	}{
		"no boundary":     {func(r *rig) { r.launch = errors.New("the boundary does not stand") }, "does not stand"},
		"no prompt":       {func(r *rig) { r.loop.Rules.Prompt = "gone.md" }, "gone.md"},
		"bad prompt":      {func(r *rig) { r.write("PROMPT.md", "{{nonsense}}") }, "nonsense"},
		"no program":      {func(r *rig) { r.loop.Task.Program = []string{"no-such-agent"} }, "no-such-agent"},
		"no task file":    {func(r *rig) { r.loop.Rules.Tasks = "prd.json" }, "prd.json"},
		"no turn to take": {func(r *rig) { r.loop.Rules.MaxTurns = -1 }, "turns"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, says(complete))
			tt.broken(r)
			stop, err := r.loop.Execute(t.Context())
			if err == nil || stop.Status != rundir.Failed || !strings.Contains(stop.Reason, tt.reason) {
				t.Errorf("ended %+v with error %v", stop, err)
			}
			r.check(stop)
			if len(r.iterations()) != 0 {
				t.Error("an iteration is recorded")
			}
		})
	}
}

// Nothing at all, though all is said to be well, is tried again at once: and not
// for ever.
func TestEmptyOutput(t *testing.T) {
	for name, tt := range map[string]struct {
		empties, retries int
		saw              []agent.Gate
		status           rundir.Status
		calls            int
	}{
		"once":                        {1, 2, nil, rundir.Done, 2},
		"as often as allowed":         {2, 2, nil, rundir.Done, 3},
		"once too often":              {3, 2, nil, rundir.Failed, 3},
		"no retries":                  {1, 0, nil, rundir.Failed, 1},
		"waits for a limit not count": {3, 1, []agent.Gate{{Limited: true}, {Limited: true}}, rundir.Done, 4},
	} {
		bubble(t, name, func(t *testing.T) {
			var acts []act
			for range tt.empties {
				acts = append(acts, prints("", 0))
			}
			r := newRig(t, append(acts, says(complete))...)
			r.loop.Rules.EmptyRetries, r.gate.saw = tt.retries, tt.saw
			began := time.Now()
			stop := r.execute(t.Context())
			if stop.Status != tt.status || r.calls != tt.calls {
				t.Errorf("ended %+v after %d attempts, want %s after %d", stop, r.calls, tt.status, tt.calls)
			}
			if tt.saw == nil && time.Since(began) > time.Second {
				t.Errorf("it took %v", time.Since(began))
			}
		})
	}
}

// The limits of the whole run hold over all its sessions.
func TestRunLimits(t *testing.T) {
	charge := func(r *rig, spend rundir.Spend) act {
		return func(ctx ctxt, p *process) int {
			must(r.t, r.loop.Run.Append(rundir.EventCharge, 1, rundir.Charge{Spend: spend}))
			return r.works()(ctx, p)
		}
	}
	spend := rundir.Spend{CostUSD: 500_000_000, Tokens: rundir.Tokens{Output: 60}}
	for name, tt := range map[string]struct {
		limits     rundir.Limits
		iterations int
		reason     string
	}{
		"iterations": {rundir.Limits{MaxIterations: 3}, 3, "3 iterations"},
		"money":      {rundir.Limits{MaxCostUSD: 1_000_000_000}, 2, "budget"},
		"tokens":     {rundir.Limits{MaxTokens: 100}, 2, "100 tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.script(charge(r, spend))
			r.loop.State.Limits = tt.limits
			r.expect(rundir.Limit, tt.reason, tt.iterations)
			r.resume()
			r.expect(rundir.Limit, tt.reason, tt.iterations) // nothing is given twice
			r.resume()
			r.loop.State.Limits = rundir.Limits{MaxIterations: tt.iterations + 1}
			r.expect(rundir.Limit, "iterations", tt.iterations+1)
		})
	}
}
