package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/git"
	"github.com/agent-loop/ralph/internal/rundir"
)

// workOf is what came home of a run, for the commands that use it.
type workOf struct {
	reader *rundir.Reader
	state  rundir.State
	spec   runSpec
	config config.Config
	store  *git.Store
	obeys  func(path string) bool // programs of the user's would obey it
}

// openWork opens the work of the run that is meant.
func openWork(ctx context.Context, w World, project, id string) (*workOf, error) {
	reader, err := openRun(w, project, id)
	if err != nil {
		return nil, err
	}
	h := &workOf{reader: reader}
	if err := h.fill(ctx, w); err != nil {
		return nil, errors.Join(badRecordOnly(err, reader.ID()), reader.Close())
	}
	return h, nil
}

func (h *workOf) fill(ctx context.Context, w World) (err error) {
	if h.state, err = h.reader.State(); err != nil {
		return err
	}
	if h.store, h.spec, err = w.openStore(ctx, h.reader); err != nil {
		return err
	}
	if h.config, _, err = config.Restore(h.spec.Settings, w.Getenv, nil); err != nil {
		return err
	}
	h.obeys, err = w.hostObeys(ctx, h.config, h.store.Repo)
	return err
}

// catchUp moves a branch that was held back while somebody had it checked out.
func (h *workOf) catchUp(ctx context.Context, w World) error {
	held, err := h.store.Publish(ctx)
	if held != "" {
		fmt.Fprintln(w.Err, "ralph: note: your branch was not moved:", visible(held))
	}
	return err
}

// badRecordOnly says what to do about a damaged record, and leaves other errors
// with what they say themselves.
func badRecordOnly(err error, id string) error {
	var bad *rundir.BadRecordError
	if errors.As(err, &bad) {
		return badRecord(err, id)
	}
	return err
}

// inPlace tells whether the agent of the run worked on the user's own files.
func (h *workOf) inPlace() bool { return h.spec.Git.Workspace == config.WorkspaceInPlace }

// obeyed are the paths among some that programs of the user's would obey.
func (h *workOf) obeyed(paths []string) []string {
	found := []string{}
	for _, path := range paths {
		if h.obeys(path) {
			found = append(found, path)
		}
	}
	return found
}

// span is what of the work is meant.
func (h *workOf) span(iteration int) (rundir.Span, error) {
	span := rundir.Span{From: h.state.Base, To: h.state.Commit}
	if iteration > 0 {
		if iteration > h.state.Iteration {
			return span, noIteration(h.reader.ID(), iteration, h.state.Iteration)
		}
		var err error
		if span, err = h.reader.Span(iteration); err != nil {
			return span, badRecordOnly(err, h.reader.ID())
		}
	}
	for _, commit := range []string{span.From, span.To} {
		if !isCommit(commit) {
			return span, badRecord(&rundir.BadRecordError{File: "state.json", What: fmt.Sprintf("%q is no commit", commit)}, h.reader.ID())
		}
	}
	return span, nil
}

func noIteration(id string, n, there int) error {
	return usageError{fmt.Errorf("run %s has no iteration %d: it has %d", id, n, there), "ralph show " + id + " lists them"}
}

// isCommit tells whether a text is the whole name of a commit, and so nothing that
// git could take for a flag.
func isCommit(name string) bool {
	return (len(name) == 40 || len(name) == 64) && strings.Trim(name, "0123456789abcdef") == ""
}
