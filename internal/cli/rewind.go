package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/git"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/view"
)

type rewindOptions struct {
	project string
	run     string
	to      int
}

func newRewindCommand(w World) *cobra.Command {
	var opts rewindOptions
	cmd := &cobra.Command{
		Use:   "rewind RUN N",
		Short: "Take a run back to how it was after an iteration",
		Long: `Takes a run back to how it was after iteration N; 0 is its beginning. Its branch goes
back to the commit of that iteration, and what the agent has not committed is
removed. "ralph resume" goes on from there.

What was done since stays in the record and can be gone back to as well: "ralph
rewind RUN M" with the number of a later iteration. Money and iterations that were
used stay used.

` + whichRun,
		Example: `  ralph rewind k3f9q2 3
  ralph rewind latest 0`,
		Args:              runAndIteration,
		ValidArgsFunction: completeRuns(w, &opts.project),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			opts.run = args[0]
			if opts.to, err = iterationArgument(args[1], 0); err != nil {
				return err
			}
			return runRewind(cmd.Context(), w, opts)
		},
	}
	projectFlag(cmd, &opts.project)
	return cmd
}

// runAndIteration wants both to be said: what is taken back should be no surprise.
func runAndIteration(_ *cobra.Command, args []string) error {
	if len(args) == 2 {
		return nil
	}
	return usageError{fmt.Errorf("a run and an iteration are needed, and there are %d words", len(args)), "ralph rewind latest 3 takes the newest run back to iteration 3"}
}

func runRewind(ctx context.Context, w World, o rewindOptions) error {
	h, err := openWork(ctx, w, o.project, o.run)
	if err != nil {
		return err
	}
	defer h.reader.Close()
	commit, err := h.commitOf(o.to)
	if err != nil {
		return err
	}
	if h.inPlace() {
		return usageError{
			fmt.Errorf("run %s works on your own files, which ralph does not take back", h.reader.ID()),
			"git restore --source=" + commit + " --staged --worktree . does, and drops what is not committed",
		}
	}
	run, err := openForWriting(h.reader, "ralph rewind")
	if err != nil {
		return err
	}
	if err := errors.Join(h.rewind(ctx, w, run, o.to, commit), run.Close()); err != nil {
		return hinted{err, "the run may be half rewound; the same command once more mends it"}
	}
	return h.tellRewound(w, o.to, commit)
}

// openForWriting opens a run for a command that adds to its record.
func openForWriting(reader *rundir.Reader, command string) (*rundir.Run, error) {
	run, err := rundir.Open(filepath.Dir(reader.Path()), reader.ID(), rundir.Options{Command: command})
	var busy *rundir.BusyError
	if errors.As(err, &busy) {
		return nil, usageError{err, "end it first: ralph stop " + reader.ID()}
	}
	if err != nil {
		return nil, badRecordOnly(err, reader.ID())
	}
	return run, nil
}

// commitOf is the commit that an iteration ended with.
func (h *workOf) commitOf(n int) (string, error) {
	commit, known := h.state.Base, n == 0
	for it, err := range h.reader.Iterations() {
		if err != nil {
			return "", badRecordOnly(err, h.reader.ID())
		}
		if it.N == n {
			commit, known = it.Commit, true
		}
	}
	switch {
	case !known:
		return "", noIteration(h.reader.ID(), n, h.state.Iteration)
	case !isCommit(commit):
		return "", usageError{fmt.Errorf("of iteration %d no commit is known", n), "ralph show " + h.reader.ID() + " lists the others"}
	}
	return commit, nil
}

// rewind takes the run back. Each step can be made again, and the record tells of it
// last: a run that was killed in between is taken back by the same command.
//
// The clone goes first. As long as it is there, the run would go on in it and bring the
// later commits home again; without it, the next one is made of the branch.
func (h *workOf) rewind(ctx context.Context, w World, run *rundir.Run, to int, commit string) error {
	if err := removeClone(run.Path()); err != nil {
		return fmt.Errorf("removing the clone of the run: %w", err)
	}
	w.step("clone removed")
	held, err := h.store.Rewind(ctx, commit)
	if err != nil {
		return err
	}
	if held != "" {
		fmt.Fprintln(w.Err, "ralph: note: your branch was not moved:", visible(held))
	}
	w.step("branch rewound")
	if err := run.Rewind(to, commit); err != nil {
		return err
	}
	w.step("rewind recorded")
	return h.moveWorktree(ctx, w, commit)
}

func (w World) step(name string) {
	if w.Step != nil {
		w.Step(name)
	}
}

// moveWorktree brings the checkout that the user opens to the commit, unless the user
// did something there.
func (h *workOf) moveWorktree(ctx context.Context, w World, commit string) error {
	if h.spec.Git.Workspace != config.WorkspaceWorktree {
		return nil
	}
	err := h.store.Worktree(ctx, git.WorktreePath(h.store.Repo.Top, h.store.Branch), commit)
	var refused *git.RefusedError
	if errors.As(err, &refused) {
		fmt.Fprintln(w.Err, "ralph: note:", visible(refused.Error()))
		return nil
	}
	return err
}

// tellRewound says where the run is now, and how it goes on.
func (h *workOf) tellRewound(w World, to int, commit string) error {
	state, err := h.reader.State()
	if err != nil {
		return badRecord(err, h.reader.ID())
	}
	state.ID = h.reader.ID()
	where := fmt.Sprintf("where it was after iteration %d", to)
	if to == 0 {
		where = "at its beginning"
	}
	fmt.Fprintf(w.Out, "run %s is %s: commit %s\n", state.ID, where, view.Commit(commit))
	if later := state.Iteration; later > to {
		fmt.Fprintf(w.Err, "ralph: note: what was done since is kept: ralph rewind %s %d goes back to it\n", state.ID, later)
	}
	for _, command := range view.Next(rundir.Summary{State: state}, "") {
		fmt.Fprintln(w.Err, "ralph: hint: next:", command)
	}
	return nil
}
