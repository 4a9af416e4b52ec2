package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/mini"
)

// maxSystemPrompt bounds the file of --system.
const maxSystemPrompt = 256 << 10

// newMiniCommand is the agent that ralph brings along. It runs inside a sandbox.
func newMiniCommand(w World) *cobra.Command {
	var (
		opts   mini.Options
		system string
	)
	cmd := &cobra.Command{
		Use:   "mini",
		Short: "The built-in agent, which runs inside a sandbox",
		Long: `Works on the prompt that comes on standard input, with a model and a shell, and
prints what happens as one JSON object a line; the last is the result.

It runs inside a sandbox, where ANTHROPIC_BASE_URL leads to the gate:

  echo "fix the tests" | ralph exec --agent mini -- ralph mini

Exit codes: 0 done, 1 the provider or the network failed, 2 wrong usage, no
credential or no prompt, 3 the budget, the turns or the context are used up,
4 not authorised, out of credit or refused by the model, 130 interrupted.`,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if opts.System, err = readSystemPrompt(system); err != nil {
				return err
			}
			opts.Access, opts.Environ = mini.AccessFrom(w.Getenv), os.Environ()
			opts.In, opts.Out = w.In, w.Out
			result, err := mini.Run(cmd.Context(), opts)
			if err != nil {
				return err
			}
			if code := result.ExitCode(); code != exitOK {
				return commandExit(code)
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Model, "model", mini.DefaultModel, "the model")
	flags.IntVar(&opts.MaxTurns, "max-turns", mini.DefaultMaxTurns, "end after this many calls of the model")
	flags.Int64Var(&opts.MaxOutputTokens, "max-output-tokens", mini.DefaultMaxOutputTokens, "tokens that one answer may have")
	flags.Int64Var(&opts.Window, "context-tokens", mini.DefaultWindow, "tokens that the model can hold")
	flags.DurationVar(&opts.ToolTimeout, "tool-timeout", mini.DefaultToolTimeout, "the time that one command gets")
	flags.StringVar(&system, "system", "", "a `FILE` with a system prompt instead of the built-in one")
	return cmd
}

// readSystemPrompt reads the file of --system; no file means the built-in one.
func readSystemPrompt(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	file, err := os.Open(path)
	if err != nil {
		return "", usageError{fmt.Errorf("reading the system prompt: %w", err), ""}
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSystemPrompt+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("reading the system prompt: %w", err)
	case len(text) == 0 || len(text) > maxSystemPrompt:
		return "", usageError{fmt.Errorf("the system prompt has %d bytes, not 1 to %d", len(text), maxSystemPrompt), ""}
	}
	return string(text), nil
}
