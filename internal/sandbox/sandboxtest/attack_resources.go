package sandboxtest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/probe"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// attackSlow is how long a trivial command may take on the host while a sandbox
// tries to take all of it.
const attackSlow = 5 * time.Second

// attackLimits are small, so that an attack reaches them soon. Processes take
// memory as well: a fork bomb gets enough to meet its own limit first.
func attackLimits(name string) sandbox.Limits {
	limits := sandbox.Limits{Memory: 256 << 20, Processes: 200, Disk: 64 << 20}
	if name == "fork-bomb" {
		limits.Memory = 4 << 30
	}
	return limits
}

// resources runs each probe that uses up a sandbox in one of its own.
func (a *attack) resources(t *testing.T) {
	for _, p := range probe.All() {
		if p.Kind != probe.Resources {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Logf("%s: %s", p.Kind, p.Tries)
			a.withUsedUp(t, p.Name, func(sb sandbox.Sandbox, ws *attackWorkspace, facts probe.Facts) *attackOutcome {
				if p.Name == probe.IgnoreDeadline || p.Name == probe.LeaveDaemon {
					return a.untilDeadline(t, sb, ws, p.Name, facts)
				}
				outcome := a.run(t.Context(), sb, p.Name, facts, attackProbe)
				for _, problem := range outcome.contained() {
					t.Error(problem)
				}
				return outcome
			})
		})
	}
	t.Run("leave-daemon-until-close", func(t *testing.T) {
		a.withUsedUp(t, "until-close", func(sb sandbox.Sandbox, ws *attackWorkspace, facts probe.Facts) *attackOutcome {
			return a.untilClose(t, sb, ws, facts)
		})
	})
}

// withUsedUp gives an attack a sandbox with small limits, watches the host
// meanwhile, and looks at it afterwards.
func (a *attack) withUsedUp(t *testing.T, name string, run func(sandbox.Sandbox, *attackWorkspace, probe.Facts) *attackOutcome) {
	t.Helper()
	ws := a.host.newWorkspace(t, name)
	spec := a.spec(ws, &attackGate{})
	spec.Limits = a.limits(attackLimits(name))
	sb := a.create(t, spec)
	before := a.host.watch(ws)
	stop := attackWatchHost(t, a.host.base)
	outcome := run(sb, ws, a.facts(ws, spec))
	stop()
	outcome.log(t)
	if err := sb.Close(); err != nil {
		t.Errorf("closing the sandbox: %v", err)
	}
	for _, left := range a.left(t, sb.ID()) {
		t.Errorf("left behind on the host: %s", left)
	}
	a.checkDisk(t, ws, spec.Limits.Disk)
	ws.tidy(t)
	for _, problem := range a.host.problems(ws, before, outcome) {
		t.Error(problem)
	}
}

// untilDeadline runs a probe that never ends and expects the engine to end the
// whole sandbox when its time is up.
func (a *attack) untilDeadline(t *testing.T, sb sandbox.Sandbox, ws *attackWorkspace, name string, facts probe.Facts) *attackOutcome {
	t.Helper()
	const limit = 2 * time.Second
	outcome := a.run(t.Context(), sb, name, facts, limit)
	var limited *sandbox.LimitError
	if !errors.As(outcome.err, &limited) || limited.Limit != "time" {
		t.Errorf("at its deadline the command returned code %d, error %v; want a time limit", outcome.code, outcome.err)
	}
	if late := outcome.took - limit; late > attackSlow {
		t.Errorf("the sandbox was ended %v after its deadline", late)
	}
	ws.checkSilence(t)
	return outcome
}

// untilClose closes the sandbox while a probe and its daemons run.
func (a *attack) untilClose(t *testing.T, sb sandbox.Sandbox, ws *attackWorkspace, facts probe.Facts) *attackOutcome {
	t.Helper()
	ended := make(chan *attackOutcome, 1)
	go func() { ended <- a.run(t.Context(), sb, probe.LeaveDaemon, facts, attackProbe) }()
	for deadline := time.Now().Add(attackStart); ws.beats() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the daemon never started, so this proves nothing")
		}
	}
	if err := sb.Close(); err != nil {
		t.Errorf("closing the sandbox: %v", err)
	}
	ws.checkSilence(t)
	outcome := <-ended
	if !errors.Is(outcome.err, sandbox.ErrGone) {
		t.Errorf("the command in a closed sandbox returned code %d, error %v; want %v", outcome.code, outcome.err, sandbox.ErrGone)
	}
	return outcome
}

// beats is how much the sandbox's processes have written as a sign of life.
func (ws *attackWorkspace) beats() int64 {
	info, err := os.Lstat(filepath.Join(ws.dir, probe.Beat))
	if err != nil {
		return 0
	}
	return info.Size()
}

// checkSilence fails if a process of the ended sandbox gives a sign of life. They
// give a hundred a second.
func (ws *attackWorkspace) checkSilence(t *testing.T) {
	t.Helper()
	last := ws.beats()
	if last == 0 {
		t.Error("no process gave a sign of life before the end, so this proves nothing")
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if now := ws.beats(); now != last {
			t.Errorf("a process of the sandbox lives on after its end: %d signs of life, were %d", now, last)
			return
		}
	}
}

// checkDisk allows what a limit that is watched rather than refused lets through,
// but not all that the probe wanted.
func (a *attack) checkDisk(t *testing.T, ws *attackWorkspace, limit int64) {
	t.Helper()
	var used int64
	err := filepath.WalkDir(ws.dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // what cannot be named holds nothing: only files do
		}
		if info, err := d.Info(); err == nil {
			used += attackDiskUse(info)
		}
		return nil
	})
	if err != nil {
		t.Errorf("measuring the workspace: %v", err)
	}
	t.Logf("%d MiB of disk in use afterwards", used>>20)
	if limit > 0 && used > 8*limit {
		t.Errorf("the sandbox took %d MiB of disk, the limit is %d MiB", used>>20, limit>>20)
	}
}

// attackWatchHost does small things on the host until it is stopped, and fails
// if one takes long.
func attackWatchHost(t *testing.T, dir string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var slowest time.Duration
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			begun := time.Now()
			if err := attackSmallThing(dir); err != nil {
				t.Errorf("the host does not work any more: %v", err)
			}
			slowest = max(slowest, time.Since(begun))
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return func() {
		t.Helper()
		cancel()
		<-done
		t.Logf("meanwhile the slowest small command on the host took %v", slowest.Round(time.Millisecond))
		if slowest > attackSlow {
			t.Errorf("the host was slow to answer: %v", slowest)
		}
	}
}

// attackSmallThing starts a program and writes a file.
func attackSmallThing(dir string) error {
	if err := exec.Command("sh", "-c", ":").Run(); err != nil {
		return err
	}
	file := filepath.Join(dir, "alive")
	if err := os.WriteFile(file, []byte("alive"), 0o600); err != nil {
		return err
	}
	return os.Remove(file)
}
