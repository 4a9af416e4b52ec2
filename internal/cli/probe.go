package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/probe"
)

// newProbeCommand is what ralph runs inside a sandbox to attack it.
func newProbeCommand(w World) *cobra.Command {
	return &cobra.Command{
		Use:                "probe NAME | all",
		Short:              "Try one way out of the sandbox this runs in, or all of them",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "all" {
				return probeAll(cmd.Context(), w.Out)
			}
			if code := probe.Main(args, w.Out); code != 0 {
				return commandExit(code)
			}
			return nil
		},
	}
}

// probeAll tries every way out that leaves the sandbox usable, each in a
// process of its own, since some of them change the process they run in.
func probeAll(ctx context.Context, out io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	count := map[string]int{}
	for _, p := range probe.All() {
		if p.Kind == probe.Resources {
			continue
		}
		verdict := tryProbe(ctx, self, p)
		count[verdict]++
		fmt.Fprintf(out, "%-14s %-12s %s\n", verdict, p.Kind, p.Tries)
	}
	fmt.Fprintf(out, "\n%d blocked, %d do not apply here, %d got through\n", count["blocked"], count["does not apply"], count["GOT THROUGH"])
	if count["GOT THROUGH"] > 0 {
		return errors.New("the sandbox is not tight")
	}
	return nil
}

// tryProbe runs one probe. One that could not be tried counts as through: it was
// not seen to be blocked.
func tryProbe(ctx context.Context, self string, p probe.Probe) string {
	cmd := exec.CommandContext(ctx, self, "probe", p.Name)
	_ = cmd.Run()
	switch cmd.ProcessState.ExitCode() {
	case probe.ExitBlocked:
		return "blocked"
	case probe.ExitNotApplicable:
		return "does not apply"
	default:
		return "GOT THROUGH"
	}
}
