package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/gate/model"
	"github.com/agent-loop/ralph/internal/money"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox"
)

const (
	// ledgerFile is where a run keeps its budget, below its folder: in logs, which
	// no sandbox can write.
	ledgerFile = "logs/budget.ledger"
	// gateTimeout bounds how long a gate waits for calls that are under way when
	// its sandbox is gone, to learn what they cost.
	gateTimeout = 10 * time.Second
	// maxDecisions is how many decisions of the gate are recorded in an iteration: an
	// agent can ask for any number of hosts.
	maxDecisions = 20_000
)

// runGates makes the gates of a run, one for each sandbox, and writes what they
// decide into the record.
type runGates struct {
	run   *rundir.Run
	parts *gateParts

	mu       sync.Mutex
	ordinary money.USD // the most that was held for a call that was made
	decided  int       // decisions that were recorded in an iteration,
	in       int       // which is this
	failed   error     // the last thing that could not be recorded
}

// openGates assembles the gates of a run.
func (p *plan) openGates(ctx context.Context, run *rundir.Run, b *box) (*runGates, error) {
	g := &runGates{run: run}
	parts, err := newGateParts(ctx, p.world, p.config, gateWishes{
		run: run.ID(), models: p.models, tapes: p.opts.tapes,
		ledger: filepath.Join(run.Path(), filepath.FromSlash(ledgerFile)),
		masker: p.masker, log: g.note,
	}, &b.spec)
	if err != nil {
		return nil, err
	}
	g.parts = parts
	b.spec.Gate = g.open(nil).Serve // each sandbox gets its own; the checks want to see one
	if err := g.reconcile(); err != nil {
		return nil, errors.Join(err, parts.close())
	}
	return g, nil
}

// open makes a gate: the agent's, or that of a validation, which has a policy of its
// own and no models.
func (g *runGates) open(validation *gate.Policy) *gate.Proxy {
	cfg := g.parts.config
	if validation != nil {
		cfg.Policy, cfg.Origin = validation, nil
	}
	return gate.New(cfg)
}

// charge is the data of a charge in the record.
type charge struct {
	rundir.Charge `json:",inline"`
	Uncertain     bool   `json:"uncertain,omitzero"` // the most that it can have been
	Why           string `json:"why,omitzero"`
}

// note records what the gate decided. A paid call is recorded as a charge too,
// which alone is added up. A disk that is full is noticed by the loop, with its
// next event; whatever else goes wrong is told when the gates are closed.
func (g *runGates) note(e gate.Event) {
	n := g.run.Iterated() + 1
	err := g.noteDecision(n, e)
	if c := e.Charge; c != nil {
		g.mu.Lock()
		g.ordinary = max(g.ordinary, c.Reserved)
		g.mu.Unlock()
		err = errors.Join(err, g.run.Append(rundir.EventCharge, n, charge{
			Charge: rundir.Charge{
				Spend: rundir.Spend{CostUSD: c.Cost, Tokens: rundir.Tokens{Input: c.Input, Output: c.Output, CacheRead: c.CacheRead, CacheWrite: c.CacheWrite}},
				Model: c.Model,
			},
			Uncertain: c.Uncertain,
		}))
	}
	if err != nil {
		g.mu.Lock()
		g.failed = err
		g.mu.Unlock()
	}
}

// noteDecision records an event as "ralph exec --events" writes it.
func (g *runGates) noteDecision(n int, e gate.Event) error {
	switch count := g.count(n); {
	case count < maxDecisions || e.Charge != nil:
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		return g.run.AppendRaw(rundir.EventGate, n, text)
	case count == maxDecisions:
		return g.run.Append(rundir.EventNote, n, rundir.Note{Text: fmt.Sprintf("the gate decided more than %d times; the rest of this iteration is not recorded, but for what was paid", maxDecisions)})
	}
	return nil
}

// count tells how many decisions of an iteration there were before this one.
func (g *runGates) count(n int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.in != n {
		g.in, g.decided = n, 0
	}
	g.decided++
	return g.decided - 1
}

// reconcile brings the record up to what the budget says was, or may have been,
// spent when ralph was killed: the budget is told first. Of which kind the tokens
// were it does not know; they count as input.
func (g *runGates) reconcile() error {
	if g.parts.models == nil {
		return nil
	}
	totals, err := g.parts.models.purse.ledger.TotalsOf(g.run.ID())
	if err != nil {
		return err
	}
	recorded := g.run.Spent()
	missing := rundir.Spend{
		CostUSD: totals.Spent.USD + totals.Uncertain.USD - recorded.CostUSD,
		Tokens:  rundir.Tokens{Input: max(0, totals.Spent.Tokens-recorded.Tokens.Total())},
	}
	if missing.CostUSD <= 0 {
		return nil
	}
	return g.run.Append(rundir.EventCharge, 0, charge{
		Charge:    rundir.Charge{Spend: missing},
		Uncertain: totals.Uncertain.USD > 0, Why: "ralph was killed before this was recorded",
	})
}

// Since is part of loop.Gate.
func (g *runGates) Since(t time.Time) agent.Gate {
	if g.parts.models == nil {
		return agent.Gate{}
	}
	signals := g.parts.models.api.State().Signals
	holds := func(kind model.Kind) bool { s, ok := signals[kind]; return ok && !s.At.Before(t) }
	return agent.Gate{
		Limited: holds(model.Limited), LimitedUntil: signals[model.Limited].Until,
		Overloaded:   holds(model.Overloaded),
		Unauthorised: holds(model.Unauthorised),
		Unfunded:     holds(model.Unfunded),
		BudgetSpent:  holds(model.BudgetSpent),
	}
}

// Exhausted is part of loop.Gate.
func (g *runGates) Exhausted() bool {
	if g.parts.models == nil {
		return false
	}
	left, limited, err := g.left()
	g.mu.Lock()
	defer g.mu.Unlock()
	return err != nil || limited && (g.ordinary == 0 || left < g.ordinary)
}

// left is what is left of the budget.
func (g *runGates) left() (left money.USD, limited bool, err error) {
	ledger := g.parts.models.purse.ledger
	caps, err := ledger.Caps()
	if err != nil {
		return 0, true, err
	}
	totals, err := ledger.Totals()
	if caps.Tokens > 0 {
		return 0, true, err // no call is known by its tokens: who was refused, was for good
	}
	return caps.USD - totals.Committed().USD, caps.USD > 0, err
}

// agentEnv is what leads the agent to its models.
func (g *runGates) agentEnv() []string {
	if g.parts.models == nil {
		return nil
	}
	return g.parts.models.env
}

// access is the agent's way to its models.
func (g *runGates) access() agent.Access {
	if g.parts.models == nil {
		return agent.Access{}
	}
	return g.parts.models.access
}

func (g *runGates) close() error {
	err := g.parts.close()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed != nil {
		err = errors.Join(err, fmt.Errorf("recording what the gate decided: %w", g.failed))
	}
	return err
}

// gatedSandbox is a sandbox with its gate. When it is closed, all that the gate
// has to say is in the record.
type gatedSandbox struct {
	sandbox.Sandbox
	gate *gate.Proxy
}

// Close is part of sandbox.Sandbox.
func (s *gatedSandbox) Close() error {
	err := s.Sandbox.Close()
	ctx, cancel := context.WithTimeout(context.Background(), gateTimeout)
	defer cancel()
	if late := s.gate.Shutdown(ctx); late != nil && !errors.Is(late, context.DeadlineExceeded) {
		err = errors.Join(err, fmt.Errorf("closing the gate: %w", late))
	}
	return err
}

// envNames are the names of variables, for a record that must not hold values.
func envNames(env []string) []string {
	var names []string
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
