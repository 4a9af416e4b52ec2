package cli

import (
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
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(w.Out).Encode(rows)
			}
			table := tabwriter.NewWriter(w.Out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "NAME\tSPENT\tUNCERTAIN\tHELD\tOF\tCALLS\tTOKENS")
			for _, r := range rows {
				fmt.Fprintf(table, "%s\t%v\t%v\t%v\t%v\t%d\t%d\n", r.Name, r.Spent, r.Uncertain, r.Held, r.MaxUSD, r.Calls, r.Tokens)
			}
			return table.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

func listBudgets(w World) ([]budgetRow, error) {
	dir, err := w.budgetsDir()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing budgets: %w", err)
	}
	rows := []budgetRow{}
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), budgetSuffix)
		if !ok {
			continue
		}
		row, err := readBudget(filepath.Join(dir, entry.Name()), name)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
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
		Use:     "set NAME --max-cost-usd AMOUNT [--max-tokens N]",
		Short:   "Change how much a shared budget holds",
		Example: `  ralph budget set team --max-cost-usd 40`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			path, err := budgetPath(w, args[0])
			if err != nil {
				return err
			}
			ledger, err := budget.OpenExisting(path)
			if err != nil {
				return unknownBudget(args[0], err)
			}
			defer func() { err = errors.Join(err, ledger.Close()) }()
			caps, err := ledger.Caps()
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("max-cost-usd") {
				if caps.USD, err = money.Parse(usd); err != nil || caps.USD == 0 {
					return usageError{fmt.Errorf("--max-cost-usd %q: %w", usd, errors.Join(err, errNoAmount(caps.USD))), ""}
				}
			}
			if cmd.Flags().Changed("max-tokens") {
				caps.Tokens = tokens
			}
			return ledger.SetCaps(cmd.Context(), caps)
		},
	}
	cmd.Flags().StringVar(&usd, "max-cost-usd", "", "most dollars, such as 40")
	cmd.Flags().Int64Var(&tokens, "max-tokens", 0, "most tokens; 0 is no limit")
	return cmd
}

func errNoAmount(amount money.USD) error {
	if amount == 0 {
		return errors.New("a budget holds more than nothing")
	}
	return nil
}

func newBudgetRemoveCommand(w World) *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME",
		Short: "Forget a shared budget and what was spent of it",
		Args:  cobra.ExactArgs(1),
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
