package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/loop"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// execution is a run that this process takes to its end, and all that must be
// given back afterwards.
type execution struct {
	plan    *plan
	run     *rundir.Run
	work    *runGit // nil: the run has no commits of its own
	loop    *loop.Loop
	closers []func() error // undone last to first
}

// execute runs the loop. A new run whose set-up fails leaves nothing behind.
func (p *plan) execute(ctx context.Context, run *rundir.Run, state rundir.State) error {
	x := &execution{plan: p, run: run}
	ctx, pause, ignore := p.world.interrupts(ctx)
	defer ignore()
	if err := x.setUp(ctx, state); err != nil {
		err = errors.Join(err, x.close(), run.Close())
		if p.fresh {
			err = errors.Join(err, p.discard(run))
		}
		return err
	}
	x.loop.Pause = pause
	show := x.watch()
	stop, err := x.loop.Execute(ctx)
	err = errors.Join(err, x.close())
	if err == nil && stop.Status == rundir.Done {
		err = x.deliver(context.WithoutCancel(ctx))
	}
	x.tell(context.WithoutCancel(ctx), stop)
	err = errors.Join(err, run.Close())
	show()
	return x.conclude(stop, err)
}

// discard removes a run that never began, and the folder of runs if it was alone in
// it; see hideRecord for the rest.
func (p *plan) discard(run *rundir.Run) error {
	err := errors.Join(os.RemoveAll(run.Path()), p.world.forget(knownRun{Run: run.Path()}))
	_ = os.Remove(p.root) // unless there are others
	return err
}

// setUp brings everything together that the loop needs.
func (x *execution) setUp(ctx context.Context, state rundir.State) error {
	p := x.plan
	if err := p.note(x.run); err != nil {
		return err
	}
	work, err := p.openGit(ctx, x.run)
	if err != nil {
		return err
	}
	x.work = work
	b, err := p.newBox(x.run, work)
	if err != nil {
		return err
	}
	if err := b.addInner(p.world, p.config); err != nil {
		return err
	}
	x.closers = append(x.closers, b.inner.close)
	gates, err := p.openGates(ctx, x.run, b)
	if err != nil {
		return err
	}
	x.closers = append(x.closers, gates.close)
	if err := x.claim(ctx, b); err != nil {
		return err
	}
	if err := x.removeStale(ctx); err != nil {
		return err
	}
	project, err := os.OpenRoot(p.spec.Project)
	if err != nil {
		return fmt.Errorf("opening the project: %w", err)
	}
	x.closers = append(x.closers, project.Close)
	x.loop = &loop.Loop{
		Run: x.run, Agent: p.who, Rules: p.rules(), State: state, Gate: gates, Project: project, Files: project,
		Launcher: &launcher{plan: p, box: b, gates: gates, work: work, network: p.config.Sandbox.Network},
		Tree:     loop.NewTree(b.work, b.ignore...),
		Task: agent.Task{
			Access: gates.access(), Model: p.model(), PermissionMode: p.permission(), Program: b.program, Home: sandbox.Home,
		},
		Tasks: p.spec.Tasks,
		Step:  p.world.Step,
	}
	if work != nil {
		work.box, work.gates, x.loop.Git = b, gates, work
		if err := x.useClone(ctx, work); err != nil {
			return err
		}
	}
	return x.run.Append(rundir.EventStart, 0, rundir.Start{
		Version: currentVersion().Version, Resumed: !p.fresh, Limits: state.Limits,
		Agent: p.who.Name, Model: p.model(), Engine: p.info.Engine, Notes: p.notes,
	})
}

// note makes a new run known as this user's own.
func (p *plan) note(run *rundir.Run) error {
	if !p.fresh {
		return nil
	}
	spec, err := run.Spec()
	if err != nil {
		return err
	}
	return p.world.remember(newKnownRun(run.Path(), spec))
}

// claim takes the folders that the sandbox may write to.
func (x *execution) claim(ctx context.Context, b *box) error {
	p := x.plan
	if !p.inPlace() {
		return p.info.Check(b.spec) // all that it may write is the run's own
	}
	s := &session{world: p.world, spec: b.spec, config: p.config, command: "ralph run " + x.run.ID(), folder: x.run.Path()}
	pinned, err := p.cover.pinned()
	if err != nil {
		return err
	}
	s.config.Sandbox.Protect = slices.Concat(p.config.Sandbox.Protect, []string{p.config.Loop.Prompt}, pinned)
	if p.spec.Data != "" {
		s.config.Sandbox.Protect = slices.Concat(p.config.Sandbox.Protect, recordPaths())
	}
	state, err := p.world.stateDir()
	if err != nil {
		return err
	}
	release, err := s.claim(ctx, state)
	x.closers = append(x.closers, release)
	if err != nil {
		return err
	}
	b.spec = s.spec
	b.spec.Mounts[0].Protect = withoutCovered(b.spec.Mounts)
	return p.info.Check(b.spec)
}

// removeStale removes what is left of the run's own sandboxes, whose ralph was
// killed: the run may end before it needs another one.
func (x *execution) removeStale(ctx context.Context) error {
	if x.plan.fresh {
		return nil
	}
	found, err := x.plan.engine.List(ctx)
	if err != nil {
		return err
	}
	for _, s := range found {
		if s.State == sandbox.Stale && s.Labels["run"] == x.run.ID() {
			err = errors.Join(err, x.plan.engine.Remove(ctx, s.ID))
		}
	}
	return err
}

func (p *plan) permission() agent.PermissionMode {
	if p.config.Execution.UseBypassPermissions {
		return agent.Bypass
	}
	return agent.AcceptEdits
}

// rules are those of the loop.
func (p *plan) rules() loop.Rules {
	l := p.config.Loop
	return loop.Rules{
		Prompt: l.Prompt, Tasks: l.Tasks, CompletionTag: l.CompletionTag,
		IterationTimeout: p.config.Sandbox.Resources.Timeout, IdleTimeout: l.IdleTimeout, CompletionTimeout: l.CompletionTimeout,
		MaxTurns: l.MaxTurns, EmptyRetries: l.EmptyRetries,
		MaxErrors: l.MaxErrors, MaxSameError: l.MaxSameError, MaxNoProgress: l.MaxNoProgress, MaxDenials: l.MaxDenials,
		CoolDown: l.CoolDown, MaxWait: l.MaxWait, IdleThreshold: l.IdleThreshold,
		Validation: p.config.Validation.Command, ValidationTimeout: p.config.Validation.Timeout, ValidationSetUp: p.config.Validation.Setup,
		KeepSandbox: p.config.Sandbox.ReuseContainer,
	}
}

// close gives back what was taken, the last first.
func (x *execution) close() error {
	var errs []error
	for i := len(x.closers) - 1; i >= 0; i-- {
		errs = append(errs, x.closers[i]())
	}
	x.closers = nil
	return errors.Join(errs...)
}
