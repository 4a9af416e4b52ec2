package loop

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
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
		var held atomic.Int32
		r.engine.Program("sh", func(ctx context.Context, p *sandboxtest.Process) int {
			if held.Add(1) == 1 {
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

// A tool can print lines into its agent's output. A session with a name of
// megabytes is nobody's, and the checkpoint goes without it.
func TestForgedSession(t *testing.T) {
	const result = `{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"` + complete + `","terminal_reason":"completed","stop_reason":"end_turn"}`
	for name, session := range map[string]string{"short": "a1", "long": strings.Repeat("x", 5<<20)} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, prints(`{"type":"system","subtype":"init","session_id":"`+session+`"}`+"\n"+result+"\n", 0)).claude()
			r.expect(rundir.Done, "", 1)
			_, c, err := r.loop.Run.LastCheckpoint()
			must(t, err)
			if (c.SessionID == session) != (name == "short") {
				t.Errorf("the checkpoint has a session of %d bytes", len(c.SessionID))
			}
		})
	}
}

// What an agent leaves where its successor's files belong, a pipe or a folder, does
// not hold the run up: the next one gets a new sandbox.
func TestFilesThatCannotBePlaced(t *testing.T) {
	for name, placing := range map[string]act{"a pipe": hangs, "a folder": exits(1)} {
		bubble(t, name, func(t *testing.T) {
			r := newRig(t, says("no events"))
			r.loop.Agent = find(t, "codex")
			r.loop.Rules.KeepSandbox, r.loop.Rules.MaxErrors = true, 0
			r.loop.State.Limits.MaxIterations = 2
			var placed atomic.Int32
			r.engine.Program("sh", func(ctx context.Context, p *sandboxtest.Process) int {
				if !strings.Contains(strings.Join(p.Args, " "), "mkdir -p") {
					return 0 // the sweep
				}
				if placed.Add(1) == 2 {
					return placing(ctx, p)
				}
				return 0
			})
			began := time.Now()
			r.expect(rundir.Limit, "", 2)
			if took := time.Since(began); placed.Load() != 3 || took > 2*placeTimeout {
				t.Errorf("placed %d times in %v", placed.Load(), took)
			}
			if n := len(events[rundir.Launch](r, rundir.EventLaunch)); n != 2 {
				t.Errorf("%d sandboxes, want 2", n)
			}
		})
	}
}

// A run that came from elsewhere can have a link where the answer is looked for. It
// is neither followed nor written through.
func TestAnswersBehindLinks(t *testing.T) {
	run := t.TempDir()
	other := filepath.Join(t.TempDir(), "other")
	const content = "mine\n---\nsecret\n"
	must(t, os.Mkdir(filepath.Join(run, "logs"), 0o700), os.WriteFile(other, []byte(content), 0o600))
	question := filepath.Join(run, filepath.FromSlash(questionFile))
	must(t, os.Symlink(other, question))
	if answer, err := ReadAnswer(run); err == nil || answer != "" {
		t.Errorf("read %q, %v", answer, err)
	}
	if err := WriteAnswer(run, "yes"); err == nil {
		t.Error("written to a link")
	}
	must(t, os.Remove(question), os.WriteFile(filepath.Join(run, "logs", "inside"), []byte(content), 0o600), os.Symlink("inside", question))
	if answer, err := ReadAnswer(run); err == nil || answer != "" {
		t.Errorf("read %q from another file of the run, %v", answer, err)
	}
	must(t, os.Remove(question), os.Symlink(other, question+".ralph-new"))
	must(t, WriteAnswer(run, "yes"))
	if answer, err := ReadAnswer(run); err != nil || answer != "yes" {
		t.Errorf("read %q, %v", answer, err)
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != content {
		t.Errorf("the other file holds %q, %v", text, err)
	}
}

// The validation runs what an agent wrote. What that does to the task file after
// everything else was looked at is put back before the run ends.
func TestTasksChangedByTheLastValidation(t *testing.T) {
	for name, code := range map[string]int{"it passes": 0, "it fails": 1} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.write("prd.json", `{"userStories": [{"id": "US-1", "title": "hard", "passes": false}]}`)
			r.script(func(ctx context.Context, p *sandboxtest.Process) int {
				r.write("prd.json", `{"userStories": [{"id": "US-1", "title": "hard", "passes": true}]}`)
				return says(complete)(ctx, p)
			})
			r.engine.Program("sh", func(_ context.Context, p *sandboxtest.Process) int {
				if len(r.live) < 2 || !strings.Contains(strings.Join(p.Args, " "), "the check") {
					return 0
				}
				r.write("prd.json", `{"userStories": [{"id": "US-1", "title": "easy", "passes": true}]}`)
				return code
			})
			r.loop.Rules.KeepSandbox, r.loop.Rules.Validation, r.loop.Rules.Tasks = true, "the check", "prd.json"
			r.loop.State.Limits.MaxIterations = 1
			r.execute(t.Context())
			if text := r.read("prd.json"); !strings.Contains(text, "hard") || len(r.live) != 2 {
				t.Errorf("after %d sandboxes the task file says %s", len(r.live), text)
			}
		})
	}
}
