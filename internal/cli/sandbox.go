package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/workspace"
)

func newSandboxCommand(w World) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "List and remove sandboxes",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSandboxListCommand(w), newSandboxRemoveCommand(w), newSandboxPruneCommand(w))
	return cmd
}

func newSandboxListCommand(w World) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List this user's sandboxes",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			engines, _, err := w.engines()
			if err != nil {
				return err
			}
			found, unseen := listAll(cmd.Context(), engines)
			for _, err := range unseen {
				fmt.Fprintln(w.Err, "ralph: note:", visible(err.Error()))
			}
			if asJSON {
				return json.NewEncoder(w.Out).Encode(found)
			}
			return printSandboxes(w.Out, found)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array")
	return cmd
}

// listAll gathers the sandboxes of all engines, oldest first, and tells which
// engines it could not look at.
func listAll(ctx context.Context, engines []sandbox.Engine) (found []sandbox.Status, unseen []error) {
	found = []sandbox.Status{}
	for _, e := range differentEngines(engines) {
		some, err := e.List(ctx)
		found = append(found, some...)
		if err != nil { // in words alone: that an engine is down is no reason to exit as if this one had failed
			unseen = append(unseen, fmt.Errorf("the sandboxes of %s cannot be seen: %v", e.Name(), err)) //nolint:errorlint
		}
	}
	slices.SortStableFunc(found, func(a, b sandbox.Status) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return found, unseen
}

func printSandboxes(out io.Writer, found []sandbox.Status) error {
	if len(found) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tENGINE\tSTATE\tAGE\tPID\tWORKSPACE")
	for _, s := range found {
		age := time.Since(s.CreatedAt).Round(time.Second)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%q\n", s.ID, s.Engine, s.State, age, s.PID, s.Workspace)
	}
	return t.Flush()
}

func newSandboxRemoveCommand(w World) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rm ID...",
		Short: "End sandboxes, running or not, and delete their state",
		Args: func(_ *cobra.Command, ids []string) error {
			if len(ids) == 0 {
				return usageError{errors.New("no sandbox given"), "ralph sandbox ls lists them"}
			}
			return nil
		},
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return completeSandboxes(cmd.Context(), w), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, ids []string) error {
			engines, _, err := w.engines()
			if err != nil {
				return err
			}
			removed, err := removeSandboxes(cmd.Context(), engines, ids)
			return errors.Join(reportPruned(w.Out, asJSON, pruned{Sandboxes: removed, Workspaces: []string{}}), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func completeSandboxes(ctx context.Context, w World) []string {
	var ids []string
	if engines, _, err := w.engines(); err == nil {
		found, _ := listAll(ctx, engines)
		for _, s := range found {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// removeSandboxes removes all of ids, or none when one of them does not exist.
func removeSandboxes(ctx context.Context, engines []sandbox.Engine, ids []string) (removed []string, err error) {
	existing, unseen := listAll(ctx, engines)
	var wanted []sandbox.Status
	for _, id := range ids {
		at := slices.IndexFunc(existing, func(s sandbox.Status) bool { return s.ID == id })
		if at < 0 {
			missing := usageError{fmt.Errorf("there is no sandbox %q", id), "ralph sandbox ls lists them"}
			return []string{}, errors.Join(append([]error{missing}, unseen...)...)
		}
		wanted = append(wanted, existing[at])
	}
	return removeEach(ctx, engines, wanted)
}

// removeEach removes what it can.
func removeEach(ctx context.Context, engines []sandbox.Engine, wanted []sandbox.Status) (removed []string, err error) {
	removed = []string{}
	var errs []error
	for _, s := range wanted {
		if slices.Contains(removed, s.ID) {
			continue // named twice
		}
		if err := removeSandbox(ctx, engines, s); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, s.ID)
	}
	return removed, errors.Join(errs...)
}

func removeSandbox(ctx context.Context, engines []sandbox.Engine, s sandbox.Status) error {
	for _, e := range engines {
		if e.Name() == s.Engine {
			return e.Remove(ctx, s.ID)
		}
	}
	return fmt.Errorf("removing %s: there is no engine %s", s.ID, s.Engine)
}

// pruned is what "ralph sandbox rm --json" and "prune --json" print.
type pruned struct {
	Sandboxes  []string `json:"sandboxes"`
	Workspaces []string `json:"workspaces"`
}

func reportPruned(out io.Writer, asJSON bool, done pruned) error {
	if asJSON {
		return json.NewEncoder(out).Encode(done)
	}
	for _, id := range done.Sandboxes {
		fmt.Fprintln(out, "removed sandbox", id)
	}
	for _, dir := range done.Workspaces {
		fmt.Fprintf(out, "cleaned up workspace %q\n", dir)
	}
	return nil
}

func newSandboxPruneCommand(w World) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Clean up after ralphs that were killed",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			engines, stateDir, err := w.engines()
			if err != nil {
				return err
			}
			done, err := prune(cmd.Context(), engines, stateDir)
			return errors.Join(reportPruned(w.Out, asJSON, done), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// prune removes stale sandboxes and cleans up abandoned workspaces. What it could not
// look at is an error.
func prune(ctx context.Context, engines []sandbox.Engine, stateDir string) (pruned, error) {
	found, errs := listAll(ctx, engines)
	stale := slices.DeleteFunc(found, func(s sandbox.Status) bool { return s.State != sandbox.Stale })
	removed, err := removeEach(ctx, engines, stale)
	errs = append(errs, err)
	cleaned, err := workspace.Prune(stateDir)
	return pruned{Sandboxes: removed, Workspaces: append([]string{}, cleaned...)}, errors.Join(append(errs, err)...)
}

// newPruneAlias is "sandbox prune" under a name of its own.
func newPruneAlias(w World) *cobra.Command {
	cmd := newSandboxPruneCommand(w)
	cmd.Use, cmd.Hidden = "prune-sandboxes", true
	return cmd
}
