package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/plaintext"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/view"
)

const (
	// stopPatience is longer than it takes to end an agent and its sandbox.
	stopPatience = 2 * time.Minute
	// holderPoll is how often it is looked whether a run is still written.
	holderPoll = 50 * time.Millisecond
	// maxSentence bounds what is printed of how a run ended.
	maxSentence = 1000

	whichLiveRun = `RUN is a run's id, its first characters, or what follows its last dash. Without
it, the one run that is being written is meant. Ctrl-C ends the waiting alone.`
)

type askOptions struct {
	request rundir.Request
	project string
	wait    time.Duration
	asJSON  bool
}

func newStopCommand(w World) *cobra.Command {
	cmd := newAskCommand(w, askOptions{request: rundir.StopRequest, wait: stopPatience},
		"until the run has ended; 0 to only ask")
	cmd.Use = "stop [RUN]"
	cmd.Short = "End a run now"
	cmd.Long = `Asks the ralph that works on a run to end it now, in the middle of an iteration,
and waits until it has. "ralph resume" begins that iteration again.

` + whichLiveRun
	return cmd
}

func newPauseCommand(w World) *cobra.Command {
	cmd := newAskCommand(w, askOptions{request: rundir.PauseRequest},
		"until the run is paused (do not wait)")
	cmd.Use = "pause [RUN]"
	cmd.Short = "End a run after its current iteration"
	cmd.Long = `Asks the ralph that works on a run to end it when the iteration under way is
finished. "ralph resume" goes on with the next.

` + whichLiveRun
	return cmd
}

func newAskCommand(w World, opts askOptions, waitUsage string) *cobra.Command {
	cmd := &cobra.Command{
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns(w, &opts.project),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAsk(cmd.Context(), w, opts, runArgument(args))
		},
	}
	projectFlag(cmd, &opts.project)
	cmd.Flags().DurationVar(&opts.wait, "wait", opts.wait, "how long to wait "+waitUsage)
	cmd.Flags().BoolVar(&opts.asJSON, "json", false, "print one JSON object")
	return cmd
}

func runAsk(ctx context.Context, w World, opts askOptions, id string) error {
	if opts.wait < 0 {
		return usageError{fmt.Errorf("--wait %v is no time to wait", opts.wait), "0 does not wait"}
	}
	reader, err := openLiveRun(w, opts, id)
	if err != nil {
		return err
	}
	defer reader.Close()
	holder, held, err := reader.Holder()
	if err != nil {
		return badRecord(err, reader.ID())
	}
	if !held {
		return notWritten(reader)
	}
	if err := reader.Ask(opts.request); err != nil {
		return err
	}
	gone, err := awaitEnd(ctx, reader, opts.wait)
	if err != nil {
		return err
	}
	if !gone && opts.wait > 0 {
		return stillWritten(reader.ID(), holder, opts)
	}
	return reportAsked(w, opts, reader, !gone)
}

// openLiveRun opens the run that is meant; without an id, the only one that is
// being written.
func openLiveRun(w World, opts askOptions, id string) (*rundir.Reader, error) {
	if id != "" {
		return openRun(w, opts.project, id)
	}
	roots, err := runsRoots(w, opts.project)
	if err != nil {
		return nil, err
	}
	all, err := listRuns(roots, 0)
	if err != nil {
		return nil, err
	}
	var live []listedRun
	var ids []string
	for _, s := range all {
		if s.Live {
			live, ids = append(live, s), append(ids, s.ID)
		}
	}
	switch len(live) {
	case 0:
		return nil, hinted{fmt.Errorf("no run is being written, so there is none to %s", opts.request), "ralph ls lists the runs"}
	case 1:
		return rundir.OpenReadOnly(live[0].root, live[0].ID)
	}
	return nil, usageError{
		fmt.Errorf("which run? %d are being written: %s", len(ids), strings.Join(ids, ", ")),
		fmt.Sprintf("ralph %s %s", opts.request, ids[0]),
	}
}

// awaitEnd waits until nobody writes the run, and tells whether it is so.
func awaitEnd(ctx context.Context, reader *rundir.Reader, patience time.Duration) (gone bool, err error) {
	if patience == 0 {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(holderPoll)
	defer ticker.Stop()
	for {
		if _, held, err := reader.Holder(); err != nil || !held {
			return !held, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return false, nil
			}
			return false, ctx.Err()
		}
	}
}

// notWritten says why nobody can be asked, and what to do instead.
func notWritten(reader *rundir.Reader) error {
	r, err := readRun(reader)
	if err != nil {
		return badRecord(err, reader.ID())
	}
	err = errors.New("nobody works on this run: " + view.Sentence(r.Summary, maxSentence))
	if next := view.Next(r.Summary, r.Checkpoint.Question); len(next) > 0 {
		return hinted{err, "to go on: " + next[len(next)-1]}
	}
	return hinted{err, "ralph show " + reader.ID() + " tells how"}
}

func stillWritten(id string, holder rundir.Holder, opts askOptions) error {
	who := plaintext.Line(holder.String(), maxSentence)
	return hinted{
		fmt.Errorf("run %s was asked to %s, but %s still writes it after %v", id, opts.request, who, opts.wait),
		fmt.Sprintf("it may still obey; ralph logs -f %s shows what it does", id),
	}
}

// askedReport is what "ralph stop --json" and "ralph pause --json" print.
type askedReport struct {
	ID         string         `json:"id"`
	Asked      rundir.Request `json:"asked"`
	Live       bool           `json:"live"` // it still goes on
	Status     rundir.Status  `json:"status"`
	StopReason string         `json:"stop_reason"`
}

// reportAsked tells what became of the run.
func reportAsked(w World, opts askOptions, reader *rundir.Reader, live bool) error {
	state, err := reader.State()
	if err != nil {
		return badRecord(err, reader.ID())
	}
	state.ID = reader.ID()
	s := rundir.Summary{State: state, Live: live}
	if opts.asJSON {
		return printRunJSON(w.Out, askedReport{s.ID, opts.request, live, view.StatusOf(s), s.StopReason})
	}
	if live {
		fmt.Fprintf(w.Out, "run %s was asked to %s\n", s.ID, opts.request)
		return nil
	}
	fmt.Fprintln(w.Out, view.Sentence(s, maxSentence))
	for _, command := range view.Next(s, "") {
		fmt.Fprintln(w.Err, "ralph: hint: next:", command)
	}
	return nil
}
