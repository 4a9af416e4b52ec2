//go:build linux

package cli_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/modeltest"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// TestKilledAtEveryStep: wherever a run is killed, "ralph resume" takes it to the
// same end, with every iteration recorded once, every call paid once, and nothing
// left behind.
func TestKilledAtEveryStep(t *testing.T) {
	newLab(t, "") // where there is no engine, nothing need be built
	stepping, remove, err := sandboxtest.Build("github.com/agent-loop/ralph/internal/cli/testdata/stepping")
	must(t, err)
	t.Cleanup(remove)
	steps := allSteps(t, stepping)
	if len(steps) < 25 || len(slices.Compact(slices.Sorted(slices.Values(steps)))) < 15 {
		t.Fatalf("a run has the steps %q", steps)
	}
	for i, name := range steps {
		t.Run(fmt.Sprintf("%d %s", i+1, name), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, threeFilesToml)
			l.commit()
			l.binary = stepping
			l.killedAt(i+1, i+1 == len(steps))
		})
	}
}

// allSteps are those of a run that nothing happens to.
func allSteps(t *testing.T, stepping string) []string {
	t.Helper()
	l := newLab(t, threeFilesToml)
	l.commit()
	l.binary = stepping
	log := filepath.Join(t.TempDir(), "steps")
	l.env = append(l.env, "STEPPING_LOG="+log)
	server := modeltest.New(t, threeFiles(1)...)
	if got := l.ralph("run", "--upstream", server.URL); got.code != 0 {
		t.Fatalf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if a := l.check(3); a.charged != 6*callCost || a.uncertain {
		t.Errorf("charged %v for six calls of %v", a.charged, callCost)
	}
	return lines(t, log)
}

// killedAt kills a run at a step, resumes it and checks what came of it. After the
// last step all is said, and only what was taken must be given back.
func (l *lab) killedAt(step int, last bool) {
	first := modeltest.New(l.t, threeFiles(1)...)
	killed := l.command("run", "--upstream", first.URL)
	killed.Env = append(killed.Env, fmt.Sprintf("STEPPING_KILL_AT=%d", step))
	out, err := killed.CombinedOutput()
	if code := exitCode(l.t, err); code != -1 {
		l.t.Fatalf("exit %d, want a kill\n%s", code, out)
	}
	recorded := len(l.read().iterations)
	second := modeltest.New(l.t, threeFiles(recorded+1)...)
	got := l.ralph("resume", "--upstream", second.URL)
	calls := int64(len(first.Calls()) + len(second.Calls()))
	if want := map[bool]int{true: 2}[last]; got.code != want {
		l.t.Fatalf("resume: exit %d, want %d\n%s%s", got.code, want, got.stdout, got.stderr)
	}
	if last {
		l.ralph("sandbox", "prune")
	}
	if a := l.check(3); a.charged != callCost.Times(calls) || a.uncertain || a.tokens != 1050*calls {
		l.t.Errorf("charged %v and %d tokens for %d calls", a.charged, a.tokens, calls)
	}
	if changed := l.changes(); !slices.Equal(changed, []string{"A", "work/1", "A", "work/2", "A", "work/3"}) {
		l.t.Errorf("the work is %q", changed)
	}
}

// TestKilledFromOutside: in the middle of a tool and in the middle of a model
// call. What the call may have cost is counted.
func TestKilledFromOutside(t *testing.T) {
	for _, test := range []struct {
		name  string
		turn  modeltest.Turn
		until func(*lab, *modeltest.Server)
	}{
		{"in a tool", modeltest.Shell("echo > work-began; sleep 1000").Uses(perCall()), func(l *lab, _ *modeltest.Server) {
			l.until("the tool runs", func() bool { return l.has("work-began") })
		}},
		{"in a call", modeltest.Say("slow").Uses(perCall()).Stalled(), func(_ *lab, s *modeltest.Server) { s.Await(1) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, threeFilesToml)
			first := modeltest.New(t, test.turn)
			s := l.start("run", "--upstream", first.URL)
			test.until(l, first)
			s.signal(syscall.SIGKILL)
			s.wait()
			l.until("all processes of the run have ended", func() bool { return len(l.processes()) == 0 })
			second := modeltest.New(t, threeFiles(1)...)
			if got := l.ralph("resume", "--upstream", second.URL); got.code != 0 {
				t.Fatalf("resume: exit %d\n%s%s", got.code, got.stdout, got.stderr)
			}
			a := l.check(3)
			cutOff := test.name == "in a call"
			if a.uncertain != cutOff || !cutOff && a.charged != 7*callCost || a.charged < 7*callCost {
				t.Errorf("charged %v, uncertain: %t", a.charged, a.uncertain)
			}
		})
	}
}
