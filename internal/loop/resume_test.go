package loop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/rundir"
)

// kill is what a kill of ralph at one step would leave on disk.
type kill struct {
	name string
	dir  string // holds copies of the runs and of the project
}

// kills runs the loop and copies everything at every step.
func (r *rig) kills(run func()) []kill {
	r.t.Helper()
	var list []kill
	base := r.t.TempDir()
	r.loop.Step = func(name string) {
		k := kill{name: fmt.Sprintf("%02d %s", len(list), name), dir: filepath.Join(base, fmt.Sprint(len(list)))}
		must(r.t,
			os.CopyFS(filepath.Join(k.dir, "runs"), os.DirFS(r.runs)),
			os.CopyFS(filepath.Join(k.dir, "project"), os.DirFS(r.project)))
		list = append(list, k)
	}
	run()
	return list
}

// revive opens what a kill left, with the rules of the run that it came from.
func (k kill) revive(t *testing.T, from *rig) *rig {
	t.Helper()
	c := &rig{t: t, runs: filepath.Join(k.dir, "runs"), project: filepath.Join(k.dir, "project"), engine: from.engine, gate: &gate{}, loop: from.loop}
	if _, err := rundir.Verify(c.runs, runID); err != nil {
		t.Fatalf("what the kill left does not verify: %v", err)
	}
	c.reopen()
	return c
}

// worker does a story in each iteration, pays for it, and says that all is done in
// the third.
func (r *rig) worker(ctx context.Context, p *process) int {
	prompt := p.Getenv("PROMPT")
	r.write("work.txt", prompt+strings.Repeat("x", r.calls))
	if strings.HasPrefix(prompt, "iteration 3") {
		return says(complete)(ctx, p)
	}
	return says("more")(ctx, p)
}

// Whenever ralph is killed, the run that is taken up has every iteration once, whole,
// and in order, and ends as if nothing had been.
func TestKilledAtEveryStep(t *testing.T) {
	for _, keep := range []bool{false, true} {
		r := newRig(t)
		r.script(r.worker)
		r.loop.Rules.Validation, r.loop.Rules.KeepSandbox = "test -e work.txt", keep
		r.loop.State.Limits.MaxTimeSeconds = 3600
		killed := r.kills(func() { r.expect(rundir.Done, "all is done, and the validation passes", 3) })
		if len(killed) < 40 {
			t.Fatalf("only %d steps", len(killed))
		}
		for _, k := range killed {
			t.Run(fmt.Sprintf("keep %v %s", keep, k.name), func(t *testing.T) {
				c := k.revive(t, r)
				done := c.loop.Run.Iterated()
				c.script(c.worker)
				c.expect(rundir.Done, "all is done, and the validation passes", 3)
				if c.calls > 3-done {
					t.Errorf("%d attempts for %d iterations", c.calls, 3-done)
				}
				checkIterations(t, c, 3)
			})
		}
	}
}

// checkIterations wants 1 to n in the record, once each.
func checkIterations(t *testing.T, r *rig, n int) {
	t.Helper()
	list := r.iterations()
	for i, it := range list {
		if it.N != i+1 || it.Outcome != "ok" || it.Validated == nil || !*it.Validated || it.ChangedFiles != 1 {
			t.Errorf("iteration %d is recorded as %+v", i+1, it)
		}
	}
	if len(list) != n || r.state().Iteration != n {
		t.Errorf("%d iterations, the state says %d", len(list), r.state().Iteration)
	}
	if stops := events[rundir.Stop](r, rundir.EventStop); len(stops) > 2 || stops[len(stops)-1].Status != rundir.Done {
		t.Errorf("ends: %+v", stops)
	}
}

// The time that was used is that of all sessions.
func TestTimeIsKeptOverSessions(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		r := newRig(t, waits(40*60*1e9, says("more")))
		r.loop.State.Limits = rundir.Limits{MaxIterations: 1, MaxTimeSeconds: 3600}
		r.expect(rundir.Limit, "1 iterations", 1)
		r.resume()
		r.loop.State.Limits.MaxIterations = 10
		r.expect(rundir.Limit, "the time of 1h0m0s is over", 2)
		if it := r.iterations()[1]; it.Outcome != "timed-out" || it.DurationMS > 20*60*1000+1000 {
			t.Errorf("recorded as %+v", it)
		}
		if got := r.state().ElapsedSeconds; got < 3600 || got > 3602 {
			t.Errorf("%d seconds", got)
		}
	})
}

// What the last iteration learned is there for the first one of the next session.
func TestTheCheckpointIsRead(t *testing.T) {
	r := newRig(t, says("more"), says(complete))
	r.loop.Rules.Validation = "echo the sky falls; test -e fixed"
	r.loop.State.Limits.MaxIterations = 1
	r.expect(rundir.Limit, "", 1)
	r.write("fixed", "")
	r.resume()
	r.loop.State.Limits.MaxIterations = 2
	r.expect(rundir.Done, "", 2)
	if !strings.Contains(r.prompts[1], "the sky falls") {
		t.Errorf("prompt: %q", r.prompts[1])
	}
}
