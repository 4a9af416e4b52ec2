package loop

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// What an agent left running may stop the sweep instead of being ended by it. The
// sandbox is given up then, and the run goes on in another one.
func TestASweepThatIsHeldUp(t *testing.T) {
	bubble(t, "for ever", func(t *testing.T) {
		r := newRig(t, says("more"), says(complete))
		r.loop.Rules.KeepSandbox = true
		held := 0
		r.engine.Program("sh", func(ctx context.Context, p *sandboxtest.Process) int {
			if held++; held == 1 {
				return hangs(ctx, p)
			}
			return 0
		})
		began := time.Now()
		r.expect(rundir.Done, "", 2)
		if took := time.Since(began); took > 2*sweepTimeout {
			t.Errorf("it took %v", took)
		}
		if n := len(events[rundir.Launch](r, rundir.EventLaunch)); n != 2 {
			t.Errorf("%d sandboxes, want a second one", n)
		}
	})
}

// homes remembers which sandbox an agent was in: it stands for what that can leave
// in its home.
type homes struct {
	*rig
	spoilt sandbox.Sandbox
}

func (h *homes) latest() sandbox.Sandbox { return h.live[len(h.live)-1] }

// Work is done when the validation passes where no agent was before.
func TestDoneIsValidatedInANewSandbox(t *testing.T) {
	for name, tt := range map[string]struct {
		honest     bool // the work itself passes
		keep       bool
		status     rundir.Status
		iterations int
		sandboxes  int
		checks     int
	}{
		"what passes":              {true, true, rundir.Done, 1, 2, 2},
		"what passes at home only": {false, true, rundir.Limit, 2, 3, 4},
		"new ones anyway":          {true, false, rundir.Done, 1, 2, 1},
		"new ones, and it fails":   {false, false, rundir.Limit, 2, 4, 2},
	} {
		t.Run(name, func(t *testing.T) {
			h := &homes{rig: newRig(t)}
			h.script(func(ctx context.Context, p *sandboxtest.Process) int {
				h.spoilt = h.latest()
				return says(complete)(ctx, p)
			})
			h.engine.Program("sh", func(_ context.Context, p *sandboxtest.Process) int {
				if strings.Contains(strings.Join(p.Args, " "), "the check") && h.latest() != h.spoilt && !tt.honest {
					return 1
				}
				return 0
			})
			h.loop.Rules.KeepSandbox, h.loop.Rules.Validation = tt.keep, "the check"
			h.loop.State.Limits.MaxIterations = 2
			h.expect(tt.status, "", tt.iterations)
			if n := len(events[rundir.Launch](h.rig, rundir.EventLaunch)); n != tt.sandboxes {
				t.Errorf("%d sandboxes, want %d", n, tt.sandboxes)
			}
			checks := events[rundir.Validation](h.rig, rundir.EventValidation)
			if len(checks) != tt.checks || checks[len(checks)-1].Passed != tt.honest {
				t.Errorf("validations %+v, want %d", checks, tt.checks)
			}
			if tt.keep && !tt.honest && !strings.Contains(h.prompts[1], "new sandbox") {
				t.Errorf("the next prompt does not say where it failed: %q", h.prompts[1])
			}
			if last := h.iterations()[tt.iterations-1]; last.Validated == nil || *last.Validated != tt.honest {
				t.Errorf("the iteration says %+v", last)
			}
		})
	}
}
