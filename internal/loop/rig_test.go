package loop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// rig is a run with everything real but the boundary and the gate: its record is
// on disk, its agent a program of the memory engine.
type rig struct {
	t       testing.TB
	runs    string // the folder of runs
	project string
	engine  *sandboxtest.Memory
	gate    *gate
	loop    *Loop
	calls   int // of the agent
	prompts []string
	live    []sandbox.Sandbox
	launch  error // what Launch fails with
}

const runID = "one"

// act is what an agent does in one attempt.
type act func(ctx context.Context, p *sandboxtest.Process) int

// newRig makes a run of the agent "command", whose acts come one after the other;
// the last of them again and again.
func newRig(t testing.TB, acts ...act) *rig {
	t.Helper()
	r := &rig{t: t, runs: filepath.Join(t.TempDir(), "runs"), project: t.TempDir(), engine: sandboxtest.NewMemory(), gate: &gate{}}
	run, err := rundir.Create(r.runs, runID, struct{}{}, rundir.Options{})
	must(t, err)
	r.script(acts...)
	r.write("PROMPT.md", "iteration {{iteration}}")
	r.build(run, rundir.State{Status: rundir.Running, Agent: "command", Engine: "memory"})
	return r
}

// build makes the loop of a run that is open.
func (r *rig) build(run *rundir.Run, state rundir.State) {
	r.t.Helper()
	project, err := os.OpenRoot(r.project)
	must(r.t, err)
	r.t.Cleanup(func() { project.Close(); run.Close() })
	r.loop = &Loop{
		Run: run, State: state, Gate: r.gate, Project: project, Files: project, Launcher: r, Tree: NewTree(r.project),
		Agent: find(r.t, "command"),
		Task:  agent.Task{PermissionMode: agent.Bypass, Program: []string{"agent"}, Home: sandbox.Home},
		Rules: Rules{Prompt: "PROMPT.md", MaxWait: time.Hour, MaxErrors: 3},
	}
	r.loop.State.Limits.MaxIterations = 10
}

func find(t testing.TB, name string) agent.Agent {
	t.Helper()
	a, err := agent.Find(name)
	must(t, err)
	return a
}

// claude makes the agent one whose output has a structure.
func (r *rig) claude() *rig {
	r.loop.Agent = find(r.t, "claude")
	return r
}

// script sets what the agent does.
func (r *rig) script(acts ...act) {
	r.engine.Program("agent", func(ctx context.Context, p *sandboxtest.Process) int {
		prompt, _ := io.ReadAll(p.Stdin)
		r.prompts = append(r.prompts, string(prompt))
		r.calls++
		p.Env = append(p.Env, "PROMPT="+string(prompt))
		return acts[min(r.calls, len(acts))-1](ctx, p)
	})
}

// Launch is part of Launcher.
func (r *rig) Launch(ctx context.Context) (sandbox.Sandbox, rundir.Launch, error) {
	if r.launch != nil {
		return nil, rundir.Launch{}, r.launch
	}
	box, err := r.engine.Create(ctx, sandbox.Spec{
		Mounts:  []sandbox.Mount{{Source: r.project, Target: "/work"}},
		Network: sandbox.NetworkNone, Env: sandbox.BaseEnv(sandbox.NetworkNone),
	})
	if err != nil {
		return nil, rundir.Launch{}, err
	}
	r.live = append(r.live, box)
	return box, rundir.Launch{Sandbox: box.ID(), Engine: "memory", Network: "none"}, nil
}

// execute runs the loop and checks what holds however it ends: the record
// verifies, no sandbox is left, and the state says what the loop said.
func (r *rig) execute(ctx context.Context) rundir.Stop {
	r.t.Helper()
	stop, err := r.loop.Execute(ctx)
	if err != nil {
		r.t.Fatalf("the loop failed: %v", err)
	}
	r.check(stop)
	return stop
}

func (r *rig) check(stop rundir.Stop) {
	r.t.Helper()
	report, err := rundir.Verify(r.runs, runID)
	must(r.t, err)
	state := r.state()
	if state.Status != stop.Status || state.StopReason != stop.Reason || state.Current != 0 || state.Iteration != report.Iterations {
		r.t.Errorf("the loop said %+v, the state says %+v, the record has %d iterations", stop, state, report.Iterations)
	}
	if left, _ := r.engine.List(context.Background()); len(left) > 0 {
		r.t.Errorf("sandboxes are left: %v", left)
	}
	if report.Unsealed != 0 {
		r.t.Errorf("%d events are not sealed", report.Unsealed)
	}
}

// expect runs the loop to an end of this kind.
func (r *rig) expect(status rundir.Status, reason string, iterations int) {
	r.t.Helper()
	stop := r.execute(r.t.Context())
	if stop.Status != status || !strings.Contains(stop.Reason, reason) {
		r.t.Errorf("ended %q: %s\nwant  %q: %s", stop.Status, stop.Reason, status, reason)
	}
	if got := r.loop.Run.Iterated(); got != iterations {
		r.t.Errorf("%d iterations are recorded, want %d", got, iterations)
	}
}

// resume opens the run again as a new process would, with the same rules.
func (r *rig) resume() {
	r.t.Helper()
	must(r.t, r.loop.Run.Close())
	r.reopen()
}

func (r *rig) reopen() {
	r.t.Helper()
	run, err := rundir.Open(r.runs, runID, rundir.Options{})
	must(r.t, err)
	state, err := run.State()
	must(r.t, err)
	rules, who, tasks := r.loop.Rules, r.loop.Agent, r.loop.Tasks
	limits := r.loop.State.Limits
	r.build(run, state)
	r.loop.Rules, r.loop.Agent, r.loop.Tasks, r.loop.State.Limits = rules, who, tasks, limits
}

func (r *rig) state() rundir.State {
	r.t.Helper()
	state, err := r.loop.Run.State()
	must(r.t, err)
	return state
}

func (r *rig) iterations() []rundir.Iteration {
	r.t.Helper()
	var list []rundir.Iteration
	for it, err := range r.loop.Run.Iterations() {
		must(r.t, err)
		list = append(list, it)
	}
	return list
}

func (r *rig) write(name, text string) {
	r.t.Helper()
	must(r.t, os.WriteFile(filepath.Join(r.project, name), []byte(text), 0o644))
}

func (r *rig) read(name string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.project, name))
	must(r.t, err)
	return string(text)
}

// events returns the data of all events of a type.
func events[T any](r *rig, kind string) []T {
	r.t.Helper()
	must(r.t, r.loop.Run.Sync())
	var list []T
	for e, err := range r.loop.Run.Events(1) {
		must(r.t, err)
		if e.Type != kind {
			continue
		}
		var data T
		must(r.t, json.Unmarshal(e.Data, &data))
		list = append(list, data)
	}
	return list
}

// gate says what it saw, one attempt after the other; then it saw nothing.
type gate struct {
	mu        sync.Mutex
	saw       []agent.Gate
	exhausted bool
}

func (g *gate) Since(time.Time) agent.Gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.saw) == 0 {
		return agent.Gate{}
	}
	saw := g.saw[0]
	g.saw = g.saw[1:]
	return saw
}

func (g *gate) Exhausted() bool { return g.exhausted }

// says prints words and exits well.
func says(text string) act {
	return func(_ context.Context, p *sandboxtest.Process) int {
		fmt.Fprintln(p.Stdout, text)
		return 0
	}
}

// exits says something and exits with a code.
func exits(code int) act {
	return func(ctx context.Context, p *sandboxtest.Process) int {
		says("working")(ctx, p)
		return code
	}
}

// works changes a file and says that there is more to do.
func (r *rig) works() act {
	return func(ctx context.Context, p *sandboxtest.Process) int {
		r.write("work.txt", strings.Repeat("x", r.calls))
		return says("more to do")(ctx, p)
	}
}

// hangs until its sandbox ends.
func hangs(ctx context.Context, _ *sandboxtest.Process) int {
	<-ctx.Done()
	return 1
}

// waits is an agent that is busy for a while.
func waits(pause time.Duration, then act) act {
	return func(ctx context.Context, p *sandboxtest.Process) int {
		select {
		case <-ctx.Done():
			return 1
		case <-time.After(pause):
			return then(ctx, p)
		}
	}
}

const complete = agent.DefaultComplete

// bubble runs a subtest whose clock is its own: hours pass in no time.
func bubble(t *testing.T, name string, fn func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, fn) })
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

type (
	ctxt    = context.Context
	process = sandboxtest.Process
)

// prints says it as it is and exits with a code.
func prints(text string, code int) act {
	return func(_ ctxt, p *process) int {
		_, _ = io.WriteString(p.Stdout, text)
		return code
	}
}
