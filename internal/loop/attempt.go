package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// attempt is one process of the agent and what came of it.
type attempt struct {
	exit    agent.Exit
	summary *agent.Summary
	outcome agent.Outcome
}

func (a attempt) turns() int {
	if a.summary.End != nil {
		return a.summary.End.Turns
	}
	return 0
}

// try starts the agent and waits for its end, which the watchdog may bring about.
// The error is what keeps the run from going on.
func (r *runner) try(ctx context.Context, it *iteration) error {
	t := r.Task
	t.Prompt, t.MaxTurns = it.prompt, r.Rules.MaxTurns
	cmd, err := r.Agent.Invocation(t)
	if err != nil {
		return err
	}
	box, err := r.furnished(ctx, it.n, cmd.Files)
	if err != nil {
		return err
	}
	began := time.Now()
	out := newOutput(r, it.n, r.Agent.Parser())
	r.step("agent starting")
	code, why, err := r.watched(ctx, box, it.n, cmd, out)
	r.step("agent ended")
	it.attempt = attempt{summary: out.close(), exit: why.exit(code)}
	stop := r.afterExec(ctx, it, err)
	r.note(rundir.EventAgentExit, it.n, rundir.AgentExit{Code: it.attempt.exit.Code, Why: why.words(err), DurationMS: time.Since(began).Milliseconds()})
	if stop != nil {
		return stop
	}
	r.tell(it, began, why, err)
	return r.sweep(ctx)
}

// afterExec sorts out what went wrong with running the agent: the end of the run,
// or of the sandbox alone.
func (r *runner) afterExec(ctx context.Context, it *iteration, err error) error {
	var start *sandbox.StartError
	switch {
	case r.recordErr() != nil:
		return r.recordErr()
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		return nil
	case errors.As(err, &start):
		return err
	}
	if it.attempt.exit.Code == 0 {
		it.attempt.exit.Code = -1
	}
	if !gone(err) {
		return nil
	}
	// What may still be running ends the run, too, and why comes first.
	if lasting := r.closeBox(err.Error()); lasting != nil {
		return fmt.Errorf("%w; %w", err, lasting)
	}
	return nil
}

// tell decides how the attempt ended.
func (r *runner) tell(it *iteration, began time.Time, why cause, err error) {
	a := &it.attempt
	saw, tags := r.Gate.Since(began), agent.Tags{Complete: r.Rules.CompletionTag}
	a.outcome = r.Agent.Outcome(a.exit, saw, a.summary, tags).OverTheGate()
	switch {
	case why == tooManyTurns:
		a.outcome.Verdict, a.outcome.Reason = agent.MaxTurns, string(why)
	case err != nil && why == "" && !a.outcome.Finished:
		a.outcome.Verdict, a.outcome.Reason = agent.Failed, err.Error()
	}
}

// iterationVariable tells the agent, and the hooks of its git, which iteration this is.
const iterationVariable = "RALPH_ITERATION"

// watched runs the command under the watchdog.
func (r *runner) watched(ctx context.Context, box sandbox.Sandbox, n int, cmd agent.Command, out *output) (int, cause, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	dog := r.newWatchdog(out, cancel)
	done := dog.watch(ctx)
	code, err := box.Exec(ctx, sandbox.Command{
		Args: cmd.Argv, Env: append(cmd.Env, fmt.Sprintf("%s=%d", iterationVariable, n)), Stdin: strings.NewReader(cmd.Stdin), Stdout: out, Stderr: out.errors(),
	})
	var why cause
	if err != nil { // or it ended by itself, just in time
		errors.As(context.Cause(ctx), &why)
	}
	cancel(nil)
	<-done
	return code, why, err
}

// furnished is a sandbox with the files that the agent wants to find inside. One
// that was used may have something in their place, such as a pipe that nobody
// reads: it is given up for a new one.
func (r *runner) furnished(ctx context.Context, n int, files map[string]string) (sandbox.Sandbox, error) {
	for {
		used := r.box != nil
		box, err := r.sandbox(ctx, n)
		if err != nil {
			return nil, err
		}
		if err = placeFiles(ctx, box, files); err == nil {
			return box, nil
		}
		if !used || ctx.Err() != nil {
			return nil, fmt.Errorf("putting the agent's files in place: %w", err)
		}
		if err := r.closeBox("the agent's files cannot be put in place"); err != nil {
			return nil, err
		}
	}
}

// placeTimeout bounds what takes no time.
const placeTimeout = 10 * time.Second

// placeFiles writes files inside.
func placeFiles(ctx context.Context, box sandbox.Sandbox, files map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, placeTimeout)
	defer cancel()
	for path, content := range files {
		code, err := box.Exec(ctx, sandbox.Command{
			Args:  []string{"sh", "-c", `mkdir -p "${1%/*}" && cat >"$1"`, "sh", path},
			Stdin: strings.NewReader(content),
		})
		if err != nil {
			return err
		}
		if code != 0 {
			return fmt.Errorf("writing %s inside: exit code %d", path, code)
		}
	}
	return nil
}
