package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/gate/budget"
	"github.com/agent-loop/ralph/internal/gate/meter"
	"github.com/agent-loop/ralph/internal/money"
)

const (
	// budgetSuffix ends the name of a shared budget's file.
	budgetSuffix = ".ledger"

	// ownPrefix begins the name of a folder with a budget that is not shared.
	ownPrefix = ".own-"

	// ownLifetime is how long such a folder is kept if nothing happens in it. Who
	// still has it open then can spend nothing more.
	ownLifetime = 30 * 24 * time.Hour
)

// purse is the budget of a command: its own, or one that it shares by name.
type purse struct {
	ledger *budget.Ledger
	path   string
	own    bool // it ends with the command
	play   bool // the calls are a replay, and cost nothing
}

func (w World) budgetsDir() (string, error) {
	state, err := w.stateDir()
	return filepath.Join(state, "budgets"), err
}

// makeBudgetsDir creates the folder of budgets. It lies in the state folder, which
// no sandbox ever sees: an agent that can write its budget has none.
func (w World) makeBudgetsDir() (string, error) {
	if _, err := w.makeStateDir(); err != nil {
		return "", err
	}
	dir, err := w.budgetsDir()
	if err != nil {
		return "", err
	}
	if err := makeOwnFolder(dir); err != nil {
		return "", fmt.Errorf("creating the folder of budgets: %w", err)
	}
	return dir, nil
}

// openPurse opens the budget that the configuration names, or else the one at
// path, which stays, or else one that ends with the command.
func openPurse(ctx context.Context, w World, b config.Budget, path string) (*purse, error) {
	usd, err := money.FromFloat(b.MaxCostUSD)
	if err != nil {
		return nil, err
	}
	caps := budget.Caps{USD: usd, Tokens: b.MaxTokens}
	dir, err := w.makeBudgetsDir()
	if err != nil {
		return nil, err
	}
	if b.Name != "" {
		return openShared(w, filepath.Join(dir, b.Name+budgetSuffix), b.Name, caps)
	}
	if path != "" {
		return openLasting(ctx, path, caps)
	}
	removeForgotten(dir)
	own, err := os.MkdirTemp(dir, ownPrefix)
	if err != nil {
		return nil, fmt.Errorf("creating a budget: %w", err)
	}
	p := &purse{path: filepath.Join(own, "ledger"), own: true}
	if p.ledger, err = budget.Open(p.path, caps); err != nil {
		return nil, errors.Join(err, os.RemoveAll(own))
	}
	return p, nil
}

// openLasting opens the budget of a run. Its caps are what the user says now: only
// the user can resume a run with others.
func openLasting(ctx context.Context, path string, caps budget.Caps) (*purse, error) {
	ledger, err := budget.Open(path, caps)
	var other *budget.CapsError
	if errors.As(err, &other) {
		if ledger, err = budget.OpenExisting(path); err == nil {
			err = ledger.SetCaps(ctx, caps)
		}
	}
	if err != nil {
		return nil, err
	}
	return &purse{ledger: ledger, path: path}, nil
}

// removeForgotten removes the own budgets that ralphs left that were killed.
func removeForgotten(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, ownPrefix+"*", "ledger"))
	for _, path := range left {
		if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > ownLifetime {
			_ = os.RemoveAll(filepath.Dir(path))
		}
	}
}

// openShared opens a named budget. Its first user decides its caps; from then on
// they change by "ralph budget set" alone, or every run could raise them.
func openShared(w World, path, name string, caps budget.Caps) (*purse, error) {
	ledger, err := budget.Open(path, caps)
	var other *budget.CapsError
	if errors.As(err, &other) {
		if looser(other.Recorded, caps) {
			fmt.Fprintf(w.Err, "ralph: note: the budget %s is shared, and it allows more than is said here: ralph budget ls shows how much\n", name)
		}
		ledger, err = budget.OpenExisting(path)
	}
	if err != nil {
		return nil, err
	}
	return &purse{ledger: ledger, path: path}, nil
}

// looser tells whether caps allow more than others. Zero is no cap.
func looser(caps, than budget.Caps) bool {
	return than.USD != 0 && (caps.USD == 0 || caps.USD > than.USD) ||
		than.Tokens != 0 && (caps.Tokens == 0 || caps.Tokens > than.Tokens)
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
	if p.play {
		fmt.Fprintf(w, "ralph: replayed %d model calls, %d tokens, %v when they were recorded\n", totals.Calls, totals.Spent.Tokens, totals.Spent.USD)
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
