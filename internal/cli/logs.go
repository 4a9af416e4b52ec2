package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/suggest"
	"github.com/agent-loop/ralph/internal/view/stream"
)

type logsOptions struct {
	project string
	run     string
	query   stream.Query
}

func newLogsCommand(w World) *cobra.Command {
	var opts logsOptions
	cmd := &cobra.Command{
		Use:   "logs [RUN]",
		Short: "Print what happened in a run, event by event",
		Long: `Prints the events of a run, one line each: what the agent said and did, what the
gate refused, how iterations and validations ended. --verbose prints all others
too: thoughts, results, traffic that was let through, every charge.

--json prints the lines of the run's logs/events.jsonl as they are. On a terminal,
characters that it would obey or hide are written as JSON escapes.

` + whichRun,
		Example: `  ralph logs -f
  ralph logs k3f9q2 --iteration 3 --verbose
  ralph logs latest --type gate --type charge
  ralph logs latest --json | jq 'select(.type == "validation").data.output'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns(w, &opts.project),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.run = runArgument(args)
			if err := opts.check(cmd); err != nil {
				return err
			}
			return runLogs(cmd.Context(), w, opts)
		},
	}
	projectFlag(cmd, &opts.project)
	f, q := cmd.Flags(), &opts.query
	f.BoolVarP(&q.Follow, "follow", "f", false, "go on with what happens, until the run ends or Ctrl-C")
	f.BoolVar(&q.JSON, "json", false, "print events as they were recorded, one JSON object a line")
	f.BoolVarP(&q.Verbose, "verbose", "v", false, "print all events, also those of little use")
	f.IntVarP(&q.Last, "last", "n", 0, "print only the last N events that there are")
	f.IntVar(&q.Iteration, "iteration", 0, "print only the events of iteration N")
	f.StringArrayVar(&q.Types, "type", nil, "print only events of type T, all of them; may be repeated")
	return cmd
}

// check refuses figures that mean nothing.
func (o *logsOptions) check(cmd *cobra.Command) error {
	for flag, n := range map[string]int{"last": o.query.Last, "iteration": o.query.Iteration} {
		if n < 1 && cmd.Flags().Changed(flag) {
			return usageError{errors.New("--" + flag + " takes a number from 1 on"), "leave it out to see all"}
		}
	}
	for _, name := range o.query.Types {
		if known := rundir.EventTypes(); !slices.Contains(known, name) {
			return usageError{fmt.Errorf("--type: there is no type %q", name), typeHint(name, known)}
		}
	}
	return nil
}

func typeHint(name string, known []string) string {
	if meant := suggest.Nearest(name, known); meant != "" {
		return "did you mean " + meant + "?"
	}
	return "there are " + strings.Join(known, ", ")
}

func runLogs(ctx context.Context, w World, o logsOptions) error {
	reader, err := openRun(w, o.project, o.run)
	if err != nil {
		return err
	}
	defer reader.Close()
	q := o.query
	q.Width = w.screenWidth()
	q.Color = q.Width > 0 && w.Getenv("NO_COLOR") == "" && w.Getenv("TERM") != "dumb"
	q.Verbose = q.Verbose || len(q.Types) > 0 // who asks for a type wants to see it
	err = stream.Print(ctx, w.Out, reader, q)
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE): // whoever read has seen enough, as in "ralph logs | head"
		return nil
	case errors.Is(err, context.Canceled):
		return err
	}
	return badRecord(err, reader.ID())
}
