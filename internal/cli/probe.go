package cli

import (
	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/probe"
)

// newProbeCommand is what ralph runs inside a sandbox to attack it.
func newProbeCommand(w World) *cobra.Command {
	return &cobra.Command{
		Use:                "probe NAME",
		Short:              "Try one way out of the sandbox this runs in",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if code := probe.Main(args, w.Out); code != 0 {
				return commandExit(code)
			}
			return nil
		},
	}
}
