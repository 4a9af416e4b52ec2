package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/git"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/view"
)

type pushOptions struct {
	project string
	run     string
	remote  string
}

func newPushCommand(w World) *cobra.Command {
	var opts pushOptions
	cmd := &cobra.Command{
		Use:   "push [RUN]",
		Short: "Push the branch of a run, with your own credentials",
		Long: `Pushes the commits of a run to the branch of the same name at a remote of yours: on
this machine, with your own credentials, never by force, never to a protected branch
and never to the remote's default one. No hooks run. The record of the run tells of it.

"ralph run --push" does it when the work is verified done.

` + whichRun,
		Example: `  ralph push
  ralph push k3f9q2 --remote fork`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeRuns(w, &opts.project),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.run = runArgument(args)
			return runPush(cmd.Context(), w, opts)
		},
	}
	projectFlag(cmd, &opts.project)
	cmd.Flags().StringVar(&opts.remote, "remote", "", "the remote's name (git.remote in the configuration, or origin)")
	return cmd
}

func runPush(ctx context.Context, w World, o pushOptions) error {
	h, err := openWork(ctx, w, o.project, o.run)
	if err != nil {
		return err
	}
	defer h.reader.Close()
	if err := h.checkWork(); err != nil {
		return err
	}
	if o.remote != "" {
		h.config.Git.Remote = o.remote
	}
	h.noteUnverified(w)
	run, err := openForWriting(h.reader, "ralph push")
	if err != nil {
		return err
	}
	if err := errors.Join(w.pushRun(ctx, run, h.store, h.spec, h.config.Git), run.Close()); err != nil {
		return err
	}
	fmt.Fprintf(w.Out, "pushed %s of run %s to %s, branch %s\n", view.Commit(h.state.Commit), h.reader.ID(), visible(h.config.Git.Remote), visible(h.store.Branch))
	return nil
}

// pushRun pushes the last commit of a run that came home to its branch at the remote,
// as the user, and notes in the record what became of it.
func (w World) pushRun(ctx context.Context, run *rundir.Run, store *git.Store, spec runSpec, cfg config.Git) error {
	state, err := run.State()
	if err != nil {
		return err
	}
	if !view.HasWork(state) || !isCommit(state.Commit) {
		return usageError{fmt.Errorf("run %s has nothing to push", run.ID()), "ralph show " + run.ID() + " tells what it did"}
	}
	told := rundir.Push{Remote: cfg.Remote, Branch: spec.Git.Branch, Commit: state.Commit}
	failed := store.Repo.Push(ctx, git.Push{Remote: told.Remote, Branch: told.Branch, Commit: told.Commit, Protected: cfg.Protected, Getenv: w.Getenv})
	if failed != nil {
		told.Error = withoutUserinfo(failed.Error())
	}
	recorded := run.Append(rundir.EventPush, 0, told)
	if recorded == nil {
		recorded = run.SaveState(state) // as it was: it seals the event
	}
	return errors.Join(failed, recorded)
}

// withoutUserinfo is a text whose addresses name nobody: a remote's may hold a token,
// and records are shown around.
func withoutUserinfo(text string) string {
	return regexp.MustCompile(`://[^/\s@]+@`).ReplaceAllString(text, "://")
}
