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

// Git brings home what an agent commits.
type Git interface {
	// Collect takes over what an iteration did, from a sandbox in which nothing else
	// runs. What is wrong with it is in Import.Refused; an error is one of the
	// sandbox, or ErrBroken, or ends the run.
	Collect(ctx context.Context, box sandbox.Sandbox, work Work) (rundir.Import, error)
	// CheckOut readies a clean checkout of the last commit that came home, in which
	// the files that the project trusts are those of the base.
	CheckOut(ctx context.Context) (Checkout, error)
}

// Work is what an iteration did, as far as the loop knows.
type Work struct {
	Iteration     int
	Subject, Body string // what to say of it
}

// Checkout is a place for one validation.
type Checkout struct {
	Launcher // starts the sandbox
	Commit   string
	Trusted  []string // trusted files that the commit has changed
	Close    func() error
}

// Loop is a run that is ready to go. All fields but those of the last block must be set;
// a Tree may be missing where there is a Git.
type Loop struct {
	Run      *rundir.Run
	Agent    agent.Agent
	Task     agent.Task // of every iteration; the loop puts the prompt in
	Rules    Rules
	State    rundir.State // what is saved; the loop fills in how it stands
	Launcher Launcher
	Gate     Gate
	Project  *os.Root // the folder of the prompt
	Files    *os.Root // the folder of task file and progress, where the agent has them
	Tree     *Tree    // what the agent works on; nil: it is out of reach, and what came home counts

	Git    Git                        // nil: the work stays where it is
	Mirror Mirror                     // keeps Files up to date; nil: they are the agent's own
	Share  func(tasks jsontext.Value) // told where the task file stands after each iteration; nil: nobody is
	Tasks  jsontext.Value             // the task file as it was when the run was made, if it has one
	Pause  <-chan struct{}            // closed when the run is to end after this iteration
	Step   func(name string)          // called between any two steps; tests kill ralph there
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
