package loop

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// heartbeat is how often the state is saved while nothing else happens, so that a
// kill forgets no more of the time that was used.
const heartbeat = time.Minute

// runner is a loop under way.
type runner struct {
	*Loop
	session    time.Time     // when this process took the run up
	elapsed    time.Duration // of the sessions before
	cancel     context.CancelCauseFunc
	box        sandbox.Sandbox
	breaker    breaker
	still      int // iterations in a row without a change
	unrun      int // and whose validation could not be run
	waited     time.Duration
	tries      int // waits in a row without a known end
	checkpoint rundir.Checkpoint
	tasks      *tasks
	answered   bool // there is a file with an answer that was taken

	mu        sync.Mutex
	failed    error // of the record
	pausing   bool
	by        string // who asked for the end
	lastSaved time.Time
}

// begin takes the run up.
func (r *runner) begin(ctx context.Context) (rundir.Stop, error) {
	n, checkpoint, err := r.Run.LastCheckpoint()
	if err != nil {
		return rundir.Stop{}, err
	}
	r.checkpoint = checkpoint
	r.breaker = breaker{rules: r.Rules, state: closed}
	crashed := r.State.Status == rundir.Running
	if r.tasks, err = r.openTasks(); err != nil {
		return rundir.Stop{}, err
	}
	r.State.Status, r.State.StopReason, r.State.EndedAt = rundir.Running, "", nil
	if err := r.takeAnswer(); err != nil {
		return rundir.Stop{}, err
	}
	if err := r.save(); err != nil {
		return rundir.Stop{}, err
	}
	r.step("begun")
	if n == r.Run.Iterated() {
		r.takeUp(checkpoint)
		if stop := r.unended(crashed); stop.Status != "" {
			return stop, nil
		}
	}
	return rundir.Stop{}, ctx.Err()
}

// takeUp brings the state to where the last iteration left it, of which a kill may
// have kept it.
func (r *runner) takeUp(c rundir.Checkpoint) {
	if c.Commit != "" {
		r.State.Commit = c.Commit
	}
	if c.Done != "" {
		r.State.Verification = c.Verification
	}
}

// unended is how the run was about to end when a kill came between its last
// iteration and the end. A checkpoint whose iteration is not recorded says nothing:
// that one is made again.
func (r *runner) unended(crashed bool) rundir.Stop {
	switch c := r.checkpoint; {
	case c.Done != "":
		return rundir.Stop{Status: rundir.Done, Reason: c.Done}
	case crashed && c.Question != "" && !r.answered:
		return asks("the agent asks: ", c.Question)
	}
	return rundir.Stop{}
}

// firstTasks is the task file as a person last had it.
func (r *runner) firstTasks() jsontext.Value {
	if len(r.checkpoint.Tasks) > 0 {
		return r.checkpoint.Tasks
	}
	return r.Tasks
}

// note appends an event. What cannot be recorded ends the run: an agent that works
// on without a record is what nobody wants.
func (r *runner) note(kind string, n int, data any) {
	if err := r.Run.Append(kind, n, data); err != nil {
		r.fail(err)
	}
}

func (r *runner) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
		r.cancel(err)
	}
}

func (r *runner) recordErr() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// save writes the state as it is now.
func (r *runner) save() error {
	r.lastSaved = time.Now()
	r.State.ElapsedSeconds = int64(r.used().Seconds())
	return r.Run.SaveState(r.State)
}

// used is the time that the run has taken, over all its sessions.
func (r *runner) used() time.Duration { return r.elapsed + time.Since(r.session) }

// beat saves the state when that was long ago.
func (r *runner) beat() {
	if time.Since(r.lastSaved) < heartbeat {
		return
	}
	if err := r.save(); err != nil {
		r.fail(err)
	}
}

func (r *runner) step(name string) {
	if r.Step != nil {
		r.Step(name)
	}
}

// sandbox is the one that is there, or a new one.
func (r *runner) sandbox(ctx context.Context, n int) (sandbox.Sandbox, error) {
	if r.box != nil {
		return r.box, nil
	}
	r.step("launching")
	box, launch, err := r.Launcher.Launch(ctx)
	if err != nil {
		return nil, err
	}
	r.box = box
	r.step("launched")
	launch.Permission = string(r.Task.PermissionMode)
	r.note(rundir.EventLaunch, n, launch)
	return box, nil
}

// closeBox ends the sandbox and everything in it.
func (r *runner) closeBox(why string) error {
	if r.box == nil {
		return nil
	}
	landed := rundir.Landed{Sandbox: r.box.ID(), Reason: why}
	err := r.box.Close()
	if err != nil {
		landed.Error = err.Error()
	}
	r.box = nil
	r.note(rundir.EventLanded, 0, landed)
	r.step("landed")
	return err
}

// killAll kills until there is nothing left to kill: what forks while it is killed
// may get away once, not for ever.
const killAll = `n=0; while kill -9 -1 2>/dev/null; do n=$((n+1)); [ $n -lt 100 ] || exit 1; done`

// sweepTimeout bounds a sweep: what is to be ended may stop the one that comes to
// end it, again and again.
const sweepTimeout = 10 * time.Second

// sweep ends what the agent or a check left running, with the whole sandbox unless
// that is kept.
func (r *runner) sweep(ctx context.Context) error {
	if !r.Rules.KeepSandbox {
		return r.closeBox("its iteration is over")
	}
	return r.endProcesses(ctx)
}

// endProcesses ends what a command left running, so that nothing of it can meddle
// with the next one. A sandbox where that fails is given up.
func (r *runner) endProcesses(ctx context.Context) error {
	if r.box == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	code, err := r.box.Exec(limited, sandbox.Command{Args: []string{"sh", "-c", killAll}})
	if err != nil || code != 0 {
		return r.closeBox("what was left running could not be ended")
	}
	r.step("swept")
	return nil
}

// gone tells whether an error of Exec means that the sandbox is no more.
func gone(err error) bool {
	var limit *sandbox.LimitError
	return errors.As(err, &limit) || errors.Is(err, sandbox.ErrGone) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
