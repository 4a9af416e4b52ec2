package loop

import (
	"context"

	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/task"
)

// Mirror keeps Loop.Files up to date where the agent's own files cannot be looked at:
// in the file system of its sandbox. Between two sandboxes Files is as the last one
// left it, and whoever starts the next one puts back in what was changed since.
type Mirror interface {
	// Fetch brings task file and progress out. What is wrong with them is for the loop
	// to find; an error is one of the sandbox, or of this machine.
	Fetch(ctx context.Context, box sandbox.Sandbox) error
	// Put brings back in what was changed in Files since the last Fetch.
	Put(ctx context.Context, box sandbox.Sandbox) error
}

// EndAll is the command that ends every process of the agent's in a sandbox.
func EndAll() sandbox.Command {
	return sandbox.Command{Args: []string{"sh", "-c", killAll}, Dir: "/"}
}

// takeFiles readies Files for the prompt of an iteration. What was done to the task
// file by one that was cut off is no part of this one, as when a run is resumed.
func (r *runner) takeFiles(ctx context.Context, n int) error {
	if r.Mirror == nil {
		return nil
	}
	if _, err := r.sandbox(ctx, n); err != nil {
		return err
	}
	_, err := r.lookAtTasks(ctx)
	return err
}

// lookAtTasks looks at the task file where the agent has it, and mends it there.
func (r *runner) lookAtTasks(ctx context.Context) (task.Update, error) {
	if r.Mirror == nil {
		return r.tasks.look(), nil
	}
	if err := r.mirror(ctx, r.Mirror.Fetch); err != nil {
		return task.Update{}, err
	}
	update := r.tasks.look()
	return update, r.mirror(ctx, r.Mirror.Put)
}

// mirror does one half of it, if there is a sandbox. What the agent left there may
// keep it from being done: then a sandbox that is no more is closed, and the run goes
// on with what is known. The error is what ends the run.
func (r *runner) mirror(ctx context.Context, do func(context.Context, sandbox.Sandbox) error) error {
	if r.box == nil {
		return nil
	}
	err := do(ctx, r.box)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	r.note(rundir.EventNote, r.State.Current, rundir.Note{Text: "task file and progress may be out of date: " + err.Error()})
	if gone(err) {
		return r.closeBox(err.Error())
	}
	return nil
}
