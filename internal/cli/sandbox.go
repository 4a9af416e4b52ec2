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
			found, err := listAll(cmd.Context(), w.Engines(w.stateDir()))
			if err != nil {
				return err
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

// listAll gathers the sandboxes of all engines, oldest first.
func listAll(ctx context.Context, engines []sandbox.Engine) ([]sandbox.Status, error) {
	all := []sandbox.Status{}
	var errs []error
	for _, e := range engines {
		found, err := e.List(ctx)
		all, errs = append(all, found...), append(errs, err)
	}
	slices.SortStableFunc(all, func(a, b sandbox.Status) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return all, errors.Join(errs...)
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
	return &cobra.Command{
		Use:   "rm ID...",
		Short: "End sandboxes, running or not, and delete their state",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, ids []string) error {
			return removeSandboxes(cmd.Context(), w.Engines(w.stateDir()), ids)
		},
	}
}

func removeSandboxes(ctx context.Context, engines []sandbox.Engine, ids []string) error {
	existing, err := listAll(ctx, engines)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !slices.ContainsFunc(existing, func(s sandbox.Status) bool { return s.ID == id }) {
			return usageError{fmt.Errorf("there is no sandbox %q", id), "ralph sandbox ls lists them"}
		}
	}
	var errs []error
	for _, e := range engines {
		for _, id := range ids {
			errs = append(errs, e.Remove(ctx, id))
		}
	}
	return errors.Join(errs...)
}

// pruned is what "ralph sandbox prune --json" prints.
type pruned struct {
	Sandboxes  []string `json:"sandboxes"`
	Workspaces []string `json:"workspaces"`
}

func newSandboxPruneCommand(w World) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Clean up after ralphs that were killed",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			done, err := prune(cmd.Context(), w.Engines(w.stateDir()), w.stateDir())
			if asJSON {
				return errors.Join(json.NewEncoder(w.Out).Encode(done), err)
			}
			for _, id := range done.Sandboxes {
				fmt.Fprintln(w.Out, "removed sandbox", id)
			}
			for _, dir := range done.Workspaces {
				fmt.Fprintf(w.Out, "cleaned up workspace %q\n", dir)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func prune(ctx context.Context, engines []sandbox.Engine, stateDir string) (pruned, error) {
	done := pruned{Sandboxes: []string{}, Workspaces: []string{}}
	found, err := listAll(ctx, engines)
	errs := []error{err}
	for _, s := range found {
		if s.State != sandbox.Stale {
			continue
		}
		for _, e := range engines {
			if e.Name() == s.Engine {
				errs = append(errs, e.Remove(ctx, s.ID))
				done.Sandboxes = append(done.Sandboxes, s.ID)
			}
		}
	}
	cleaned, err := workspace.Prune(stateDir)
	done.Workspaces = append(done.Workspaces, cleaned...)
	return done, errors.Join(append(errs, err)...)
}
