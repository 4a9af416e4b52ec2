package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// Launcher starts sandboxes for a run. There is one at a time.
type Launcher interface {
	// Launch starts a sandbox and tells what it is given. An error means that the
	// boundary does not stand; the run ends.
	Launch(ctx context.Context) (sandbox.Sandbox, rundir.Launch, error)
}

// Gate is what the loop asks of the run's gate.
type Gate interface {
	// Since tells what the gate saw since a time, as far as it still holds.
	Since(t time.Time) agent.Gate
	// Exhausted tells whether an ordinary call of this run no longer fits into the
	// budget. One absurd call that was refused does not end a run.
	Exhausted() bool
}

// Loop is a run that is ready to go. All fields but the last three must be set.
type Loop struct {
	Run      *rundir.Run
	Agent    agent.Agent
	Task     agent.Task // of every iteration; the loop puts the prompt in
	Rules    Rules
	State    rundir.State // what is saved; the loop fills in how it stands
	Launcher Launcher
	Gate     Gate
	Project  *os.Root // the folder of prompt, task file and progress
	Tree     *Tree    // what the agent works on

	Tasks jsontext.Value    // the task file as it was when the run was made, if it has one
	Pause <-chan struct{}   // closed when the run is to end after this iteration
	Step  func(name string) // called between any two steps; tests kill ralph there
}

// errStopped is why the loop's context ends when a person says so.
var errStopped = errors.New("stopped")

// Execute runs the loop to its end, and leaves the run as it then is on disk. The
// error is what made it fail, if it did; the Stop tells the rest. When ctx ends,
// everything is ended at once.
func (l *Loop) Execute(ctx context.Context) (rundir.Stop, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &runner{Loop: l, session: time.Now(), elapsed: time.Duration(l.State.ElapsedSeconds) * time.Second, cancel: cancel}
	stop, err := r.begin(ctx)
	stopped := ctx.Err() != nil
	if err == nil && stop.Status == "" {
		done := r.listen(ctx)
		stop, err = r.loop(ctx)
		stopped = ctx.Err() != nil // by somebody else
		cancel(nil)
		<-done
	}
	return r.end(stopped, stop, err)
}

// loop iterates until something ends it.
func (r *runner) loop(ctx context.Context) (rundir.Stop, error) {
	for {
		if ctx.Err() != nil {
			return rundir.Stop{}, context.Cause(ctx)
		}
		if stop, ok := r.spent(); ok {
			return stop, nil
		}
		stop, err := r.iterate(ctx)
		if err != nil || stop.Status != "" {
			return stop, err
		}
		if stop := r.stopIfPaused(); stop.Status != "" {
			return stop, nil
		}
	}
}

// end closes what is open and writes how the run ended. What it cannot write is
// an error, and the run counts as interrupted.
func (r *runner) end(stopped bool, stop rundir.Stop, err error) (rundir.Stop, error) {
	if r.recordErr() != nil {
		err = fmt.Errorf("writing the record of the run: %w", r.recordErr())
	} else if stopped && (err != nil || stop.Status == "") {
		stop, err = rundir.Stop{Status: rundir.Stopped, Reason: "stopped by " + r.askedBy()}, nil
	}
	if err != nil {
		stop = rundir.Stop{Status: rundir.Failed, Reason: err.Error()}
	}
	err = errors.Join(err, r.closeBox("the run ends"))
	if r.State.Current > 0 { // what was cut off may have been at the task file
		r.noteTasks(r.State.Current, r.tasks.look())
	}
	r.step("ending")
	r.note(rundir.EventStop, 0, stop)
	now := time.Now()
	r.State.Status, r.State.StopReason, r.State.EndedAt, r.State.Current = stop.Status, stop.Reason, &now, 0
	err = errors.Join(err, r.save())
	r.step("ended")
	return stop, err
}
