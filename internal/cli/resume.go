package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/loop"
	"github.com/agent-loop/ralph/internal/rundir"
)

func newResumeCommand(w World) *cobra.Command {
	var opts runOptions
	cmd := &cobra.Command{
		Use:   "resume [RUN]",
		Short: "Go on with a run where it stopped, with more room if you say so",
		Long: `Goes on with a run: after a limit, a question, a pause, a crash or a reboot.

It goes by what the run was started with, not by what ralph.toml says now, and takes
up its counters and its last checkpoint. An iteration that was cut off is begun
again. New limits count from the run's start, and stay: --max-cost-usd 40 lets a run
that has spent 25 spend 15 more. What you edit in the project meanwhile is seen.

If the agent asked something, answer with --answer, or in the file that "ralph show"
names. RUN is an id, or as much of one as is needed; without it the newest run is
meant.`,
		Example: `  ralph resume
  ralph resume k3f9q2 --max-cost-usd 40 --max-iterations 60
  ralph resume k3f9q2 --answer "use the second design"`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := setFlags(cmd, &opts.flags); err != nil {
				return err
			}
			if len(args) > 0 {
				opts.id = args[0]
			}
			return resumeRun(cmd.Context(), w, opts)
		},
	}
	opts.addFlags(cmd)
	cmd.Flags().StringVar(&opts.answer, "answer", "", "what the agent is told that asked")
	cmd.Flags().BoolVar(&opts.trust, "trust", false, "go on with a run that was started by somebody else or elsewhere")
	return cmd
}

// resumeRun takes a run up again.
func resumeRun(ctx context.Context, w World, opts runOptions) error {
	reader, err := openRun(w, opts.project, opts.id)
	if err != nil {
		return err
	}
	defer reader.Close()
	if _, err := unfinished(reader); err != nil {
		return err
	}
	if err := checkKnown(w, reader, opts.trust); err != nil {
		return err
	}
	p, err := resumePlan(ctx, w, opts, reader)
	if err != nil {
		return err
	}
	options := p.options()
	options.Command = "ralph resume"
	run, err := rundir.Open(p.root, reader.ID(), options)
	var busy *rundir.BusyError
	if errors.As(err, &busy) {
		return usageError{err, "watch it with: ralph logs -f " + reader.ID()}
	}
	if err != nil {
		return err
	}
	state, err := unfinished(run.Reader) // another ralph may have had it until now
	if err == nil {
		state, err = p.extend(run, state)
	}
	if err != nil {
		return errors.Join(err, run.Close())
	}
	return p.execute(ctx, run, state)
}

// unfinished is the state of a run that can go on.
func unfinished(run *rundir.Reader) (rundir.State, error) {
	state, err := run.State()
	if err == nil && state.Status == rundir.Done {
		err = usageError{fmt.Errorf("run %s: %w", run.ID(), errDone), "start another one with: ralph run"}
	}
	return state, err
}

// checkKnown refuses a run that this user did not start here, unless told that it
// can be trusted.
func checkKnown(w World, run *rundir.Reader, trust bool) error {
	spec, err := run.Spec()
	if err != nil {
		return err
	}
	k := newKnownRun(run.Path(), spec)
	if trust {
		return w.remember(k)
	}
	known, err := w.knows(k)
	if err == nil && !known {
		err = usageError{
			fmt.Errorf("run %s was not started by you on this machine, and its spec.json says what runs here", run.ID()),
			"read " + filepath.Join(run.Path(), "spec.json") + ", and if you trust it, pass --trust",
		}
	}
	return err
}

// extend writes the new limits and the answer down before anything else happens.
func (p *plan) extend(run *rundir.Run, state rundir.State) (rundir.State, error) {
	if p.opts.answer != "" {
		if err := loop.WriteAnswer(run.Path(), p.opts.answer); err != nil {
			return state, err
		}
	}
	state.Limits, state.Engine, state.Model = p.limits, p.info.Engine, p.model()
	state.Resumes = append(state.Resumes, rundir.Resume{At: time.Now(), Iteration: run.Iterated(), From: state.Status, Limits: p.limits})
	return state, run.SaveState(state)
}
