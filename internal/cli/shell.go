package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/config"
)

// shellOptions are the flags and arguments of "ralph shell".
type shellOptions struct {
	project string
	args    []string // the agent's own
	verbose bool
	timed   bool // the user sets a time
	events  string
	tapes   tapes
	flags   config.Layer
}

func newShellCommand(w World) *cobra.Command {
	var opts shellOptions
	cmd := &cobra.Command{
		Use:   "shell [PATH] [flags] [-- ARG...]",
		Short: "Work with an agent yourself, in the same sandbox",
		Long: `Starts an agent for you to work with, on the project in PATH or in the current
folder, in the sandbox and behind the gate that it has in a run: it sees the project
and nothing else of yours, reaches the hosts that you allow, holds a phantom instead
of your credential, and spends no more than the budget. It does not ask before it
acts, for the sandbox is the boundary; use_bypass_permissions = false makes it ask.

Keys go to the agent, Ctrl-C among them. What follows -- goes to the agent, too:
with -p "..." claude answers on standard output, and needs no terminal.

The sessions of claude and codex outlive the sandbox, in a folder of this project and
agent that lies outside the project, so that -- --continue goes on with the last one.
Other agents have a new home each time. A folder that a run or another shell works
on is refused.

The exit code is the agent's.`,
		Example: `  ralph shell
  ralph shell ~/src/project --max-cost-usd 5 --allow @npm
  ralph shell . -- --continue
  ralph shell . -- -p "what does this project do?"
  ralph shell --agent codex -- resume --last`,
		Args: func(cmd *cobra.Command, args []string) error { return opts.readArgs(args, cmd.ArgsLenAtDash()) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.timed = cmd.Flags().Changed("timeout")
			if err := setFlags(cmd, &opts.flags); err != nil {
				return err
			}
			return runShell(cmd.Context(), w, opts)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return usageError{err, "what is meant for the agent goes after --, as in: ralph shell . -- -p \"...\""}
	})
	opts.addFlags(cmd)
	return cmd
}

func (o *shellOptions) addFlags(cmd *cobra.Command) {
	addSandboxFlags(cmd)
	addInnerFlag(cmd)
	f := cmd.Flags()
	f.String("agent", "", "who works with you: claude, codex, opencode or command")
	f.String("model", "", "the model it asks for")
	f.String("max-cost-usd", "", "most that model calls may cost, such as 2.50")
	f.String("max-tokens", "", "most tokens of all model calls")
	addModelFlags(cmd, &o.tapes)
	addBudgetFlag(cmd)
	f.StringVar(&o.events, "events", "", "write what the gate decides to FILE, one JSON object a line")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say what is done")
	f.Lookup("timeout").Usage = "end the session after this time, such as 2h (never)"
}

// readArgs tells the project from what is said to the agent. dash is how many
// arguments come before the --, or less than none if there is no --.
func (o *shellOptions) readArgs(args []string, dash int) error {
	own := args
	if dash >= 0 {
		own, o.args = args[:dash], args[dash:]
	}
	switch len(own) {
	case 0:
	case 1:
		o.project = own[0]
	default:
		return usageError{fmt.Errorf("one project at a time, not %q", own), "what is meant for the agent goes after --"}
	}
	return nil
}

// runShell takes a session from its plan to its bill.
func runShell(ctx context.Context, w World, opts shellOptions) (err error) {
	s, err := newShell(ctx, w, opts)
	if err != nil {
		return err
	}
	spec, err := s.sandbox()
	if err != nil {
		return err
	}
	gate, err := openGate(ctx, w, s.config, execOptions{models: s.models, tapes: opts.tapes, events: opts.events}, &spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gate.close()) }()
	begun, err := s.interaction(gate)
	if err != nil {
		return err
	}
	cmd, err := s.command(begun)
	if err != nil {
		return err
	}
	defer func() { gate.report(w.Err, opts.verbose) }()
	return s.run(ctx, spec, begun, cmd)
}
