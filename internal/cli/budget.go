package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/gate/budget"
	"github.com/agent-loop/ralph/internal/money"
)

func newBudgetCommand(w World) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "budget",
		Short: "Look at and change the budgets that runs share",
		Long: `A budget with a name is shared by every command that is started with --budget NAME
or budget.name in your own configuration file. Its first user decides how much
it holds; after that only "ralph budget set" changes it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBudgetListCommand(w), newBudgetSetCommand(w), newBudgetRemoveCommand(w))
	return cmd
}

// budgetRow is a shared budget as it is listed.
type budgetRow struct {
	Name      string    `json:"name"`
	MaxUSD    money.USD `json:"max_cost_usd"` // 0: no cap
	MaxTokens int64     `json:"max_tokens"`   // 0: no cap
	Spent     money.USD `json:"spent_usd"`
	Uncertain money.USD `json:"uncertain_usd"`
	Held      money.USD `json:"held_usd"`
	Tokens    int64     `json:"tokens"`
	Calls     int64     `json:"calls"`
}

func newBudgetListCommand(w World) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List shared budgets and what is spent",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			rows, err := listBudgets(w)
			if asJSON {
				return errors.Join(err, json.NewEncoder(w.Out).Encode(rows))
			}
			table := tabwriter.NewWriter(w.Out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "NAME\tSPENT\tUNCERTAIN\tHELD\tOF\tCALLS\tTOKENS")
			for _, r := range rows {
				fmt.Fprintf(table, "%s\t%v\t%v\t%v\t%v\t%d\t%d\n", r.Name, r.Spent, r.Uncertain, r.Held, r.MaxUSD, r.Calls, r.Tokens)
			}
			return errors.Join(err, table.Flush())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

// listBudgets lists those that can be read. The error is about the others.
func listBudgets(w World) ([]budgetRow, error) {
	rows := []budgetRow{}
	dir, err := w.budgetsDir()
	if err != nil {
		return rows, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return rows, fmt.Errorf("listing budgets: %w", err)
	}
	var errs []error
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), budgetSuffix)
		if !ok {
			continue
		}
		row, err := readBudget(filepath.Join(dir, entry.Name()), name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		rows = append(rows, row)
	}
	return rows, errors.Join(errs...)
}

func readBudget(path, name string) (row budgetRow, err error) {
	ledger, err := budget.OpenExisting(path)
	if err != nil {
		return row, fmt.Errorf("reading the budget %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()
	totals, err := ledger.Totals()
	if err != nil {
		return row, err
	}
	caps, err := ledger.Caps()
	return budgetRow{
		Name: name, MaxUSD: caps.USD, MaxTokens: caps.Tokens,
		Spent: totals.Spent.USD, Uncertain: totals.Uncertain.USD, Held: totals.Held.USD,
		Tokens: totals.Spent.Tokens, Calls: totals.Calls,
	}, err
}

func newBudgetSetCommand(w World) *cobra.Command {
	var usd string
	var tokens int64
	cmd := &cobra.Command{
		Use:     "set NAME [--max-cost-usd AMOUNT] [--max-tokens N]",
		Short:   "Change how much a shared budget holds",
		Example: `  ralph budget set team --max-cost-usd 40`,
		Args:    oneBudget,
		RunE: func(cmd *cobra.Command, args []string) error {
			cost, count := cmd.Flags().Changed("max-cost-usd"), cmd.Flags().Changed("max-tokens")
			if !cost && !count {
				return usageError{errors.New("nothing to change was given"), "say --max-cost-usd AMOUNT, --max-tokens N, or both"}
			}
			return setBudget(cmd.Context(), w, args[0], func(caps *budget.Caps) (err error) {
				if count {
					caps.Tokens = tokens
				}
				if cost {
					caps.USD, err = parseAmount(usd)
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&usd, "max-cost-usd", "", "most dollars, such as 40")
	cmd.Flags().Int64Var(&tokens, "max-tokens", 0, "most tokens; 0 is no limit")
	return cmd
}

func setBudget(ctx context.Context, w World, name string, change func(*budget.Caps) error) (err error) {
	path, err := budgetPath(w, name)
	if err != nil {
		return err
	}
	ledger, err := budget.OpenExisting(path)
	if err != nil {
		return unknownBudget(name, err)
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()
	caps, err := ledger.Caps()
	if err != nil {
		return err
	}
	if err := change(&caps); err != nil {
		return err
	}
	return ledger.SetCaps(ctx, caps)
}

func parseAmount(text string) (money.USD, error) {
	amount, err := money.Parse(text)
	if err == nil && amount == 0 {
		err = errors.New("a budget holds more than nothing")
	}
	if err != nil {
		return 0, usageError{fmt.Errorf("--max-cost-usd %q: %w", text, err), "write it as in --max-cost-usd 40"}
	}
	return amount, nil
}

func newBudgetRemoveCommand(w World) *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME",
		Short: "Forget a shared budget and what was spent of it",
		Args:  oneBudget,
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := budgetPath(w, args[0])
			if err != nil {
				return err
			}
			row, err := readBudget(path, args[0])
			if err != nil {
				return unknownBudget(args[0], err)
			}
			if row.Held > 0 {
				return fmt.Errorf("the budget %s is in use: %v is held for calls under way", args[0], row.Held)
			}
			return budget.Remove(path)
		},
	}
}

// oneBudget takes the name of one budget and nothing else.
func oneBudget(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageError{fmt.Errorf("%s takes the name of one budget, and %d were given", cmd.CommandPath(), len(args)), "ralph budget ls lists them"}
	}
	return nil
}

func budgetPath(w World, name string) (string, error) {
	if name != filepath.Base(name) || strings.HasPrefix(name, ".") {
		return "", usageError{fmt.Errorf("%q is not the name of a budget", name), "ralph budget ls lists them"}
	}
	dir, err := w.budgetsDir()
	return filepath.Join(dir, name+budgetSuffix), err
}

func unknownBudget(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return usageError{fmt.Errorf("there is no budget %q", name), "ralph budget ls lists them"}
	}
	return err
}
