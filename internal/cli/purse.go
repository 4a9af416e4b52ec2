package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/gate/budget"
	"github.com/agent-loop/ralph/internal/gate/meter"
	"github.com/agent-loop/ralph/internal/money"
)

// budgetSuffix ends the name of a shared budget's file.
const budgetSuffix = ".ledger"

// purse is the budget of a command: its own, or one that it shares by name.
type purse struct {
	ledger *budget.Ledger
	path   string
	own    bool // it ends with the command
}

func (w World) budgetsDir() (string, error) {
	state, err := w.stateDir()
	return filepath.Join(state, "budgets"), err
}

func openPurse(w World, b config.Budget) (*purse, error) {
	usd, err := money.FromFloat(b.MaxCostUSD)
	if err != nil {
		return nil, err
	}
	caps := budget.Caps{USD: usd, Tokens: b.MaxTokens}
	if b.Name != "" {
		return openShared(w, b.Name, caps)
	}
	own, err := os.MkdirTemp("", "ralph-budget-")
	if err != nil {
		return nil, fmt.Errorf("creating a budget: %w", err)
	}
	p := &purse{path: filepath.Join(own, "ledger"), own: true}
	if p.ledger, err = budget.Open(p.path, caps); err != nil {
		return nil, errors.Join(err, os.RemoveAll(own))
	}
	return p, nil
}

// openShared opens a named budget. Its first user decides its caps; from then on
// they change by "ralph budget set" alone, or every run could raise them.
func openShared(w World, name string, caps budget.Caps) (*purse, error) {
	if _, err := w.makeStateDir(); err != nil {
		return nil, err
	}
	dir, err := w.budgetsDir()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating the folder of budgets: %w", err)
	}
	p := &purse{path: filepath.Join(dir, name+budgetSuffix)}
	var other *budget.CapsError
	if p.ledger, err = budget.Open(p.path, caps); errors.As(err, &other) {
		p.ledger, err = budget.OpenExisting(p.path)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (p *purse) close() error {
	err := p.ledger.Close()
	if p.own {
		err = errors.Join(err, os.RemoveAll(filepath.Dir(p.path)))
	}
	return err
}

// report says what was spent, and what may have been.
func (p *purse) report(w io.Writer) {
	totals, err := p.ledger.Totals()
	caps, capsErr := p.ledger.Caps()
	if err = errors.Join(err, capsErr); err != nil {
		fmt.Fprintln(w, "ralph: reading the budget:", err)
		return
	}
	fmt.Fprintf(w, "ralph: %d model calls, %d tokens, %v spent", totals.Calls, totals.Spent.Tokens, totals.Spent.USD)
	if totals.Uncertain.USD > 0 {
		fmt.Fprintf(w, " and at most %v more that was not told", totals.Uncertain.USD)
	}
	if caps.USD > 0 {
		fmt.Fprintf(w, ", of %v", caps.USD)
	}
	fmt.Fprintln(w)
}

// prices is the built-in table with what the user says over it.
func prices(own []config.Price) (*meter.Prices, error) {
	var overrides []meter.Override
	for _, p := range own {
		overrides = append(overrides, meter.Override{
			Model: p.Model, Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite,
			Window: p.Window, MaxOutput: p.MaxOutput,
		})
	}
	return meter.NewPrices(overrides...)
}
