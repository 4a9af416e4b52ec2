package loop

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/rundir"
)

// stories is a task file of two; done says which of them pass.
func stories(done ...bool) string {
	return fmt.Sprintf(`{"userStories":[
		{"id":"one","title":"First","acceptanceCriteria":["it works"],"passes":%v},
		{"id":"two","title":"Second","acceptanceCriteria":["it works too"],"passes":%v}]}`, done[0], done[1])
}

// writes is an agent that leaves a file and says something.
func (r *rig) writes(name, text, words string) act {
	return func(ctx context.Context, p *process) int {
		r.write(name, text)
		return says(words)(ctx, p)
	}
}

// That the work is done is never the agent's word alone where there is something
// to check it with. Three iterations are all there are.
func TestWhenTheWorkIsDone(t *testing.T) {
	const limit = "limit of 3 iterations"
	for name, tt := range map[string]struct {
		words      string
		tasks      string // before; empty: there is no task file
		leaves     string // what the agent makes of it
		validation string
		threshold  int
		status     rundir.Status
		reason     string
		iterations int
	}{
		"the tag, nothing to check it":   {complete, "", "", "", 0, rundir.Done, "the agent says that all is done; there is no validation", 1},
		"the tag, and valid":             {complete, "", "", "true", 0, rundir.Done, "the agent says that all is done, and the validation passes", 1},
		"the tag, but not valid":         {complete, "", "", "false", 0, rundir.Limit, limit, 3},
		"valid, but no tag":              {"more", "", "", "true", 0, rundir.Limit, limit, 3},
		"another tag":                    {"ALL-DONE", "", "", "true", 0, rundir.Limit, limit, 3},
		"all stories":                    {"more", stories(false, false), stories(true, true), "", 0, rundir.Done, "all 2 stories pass; there is no validation", 1},
		"all stories, and valid":         {"more", stories(false, false), stories(true, true), "true", 0, rundir.Done, "all 2 stories pass, and the validation passes", 1},
		"all stories, but not valid":     {"more", stories(false, false), stories(true, true), "false", 0, rundir.Limit, limit, 3},
		"the tag, but a story is open":   {complete, stories(false, false), stories(true, false), "true", 0, rundir.Limit, limit, 3},
		"the tag, and a broken file":     {complete, stories(false, false), "{", "true", 0, rundir.Limit, limit, 3},
		"nothing changed":                {"nothing to do", "", "", "", 2, rundir.Done, "nothing changed in 2 iterations; there is no validation", 2},
		"nothing changed, and valid":     {"nothing to do", "", "", "true", 2, rundir.Done, "nothing changed in 2 iterations, and", 2},
		"nothing changed, but not valid": {"nothing to do", "", "", "false", 2, rundir.Limit, limit, 3},
		"idle, but a story is open":      {"nothing to do", stories(false, false), "", "true", 2, rundir.Limit, limit, 3},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.script(says(tt.words))
			if tt.tasks != "" {
				r.write("prd.json", tt.tasks)
				r.loop.Rules.Tasks = "prd.json"
			}
			if tt.leaves != "" {
				r.script(r.writes("prd.json", tt.leaves, tt.words))
			}
			r.loop.Rules.Validation, r.loop.Rules.IdleThreshold = tt.validation, tt.threshold
			r.loop.State.Limits.MaxIterations = 3
			r.expect(tt.status, tt.reason, tt.iterations)
			for _, it := range r.iterations() {
				if (it.Validated != nil) != (tt.validation != "") || it.Validated != nil && *it.Validated != (tt.validation == "true") {
					t.Errorf("validated is %v", it.Validated)
				}
			}
		})
	}
}

func TestAnotherCompletionTag(t *testing.T) {
	r := newRig(t, says(complete), says("it is FINISHED now"))
	r.loop.Rules.CompletionTag = "FINISHED"
	r.expect(rundir.Done, "", 2)
}

// An iteration that failed and left everything as it was is not worth a check; one
// that failed half way is.
func TestWhatIsWorthAValidation(t *testing.T) {
	r := newRig(t, exits(1), says(complete))
	r.loop.Rules.Validation = "true"
	r.expect(rundir.Done, "", 2)
	if got := len(events[rundir.Validation](r, rundir.EventValidation)); got != 1 {
		t.Errorf("%d validations, want 1", got)
	}
	r = newRig(t)
	r.script(func(ctx context.Context, p *process) int { r.works()(ctx, p); return 1 }, says(complete))
	r.loop.Rules.Validation = "true"
	r.expect(rundir.Done, "", 2)
	if got := len(events[rundir.Validation](r, rundir.EventValidation)); got != 2 {
		t.Errorf("%d validations, want 2", got)
	}
}

// What a validation said goes into the next prompt, whether that has a place for it
// or not, and no further.
func TestAFailedValidationIsTold(t *testing.T) {
	const command = `if test -e fixed; then echo fine; else printf 'the \000answer\033[31m is \377 41'; echo; exit 3; fi`
	for name, prompt := range map[string]string{
		"with a place":    "n {{iteration}}\nfailure: {{last_failure}}",
		"without a place": "n {{iteration}}",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.script(says(complete), r.writes("fixed", "", "more"), says(complete))
			r.write("PROMPT.md", prompt)
			r.loop.Rules.Validation = command
			r.expect(rundir.Done, "", 3)
			for i, want := range []int{0, 1, 0} {
				if got := strings.Count(r.prompts[i], "the answer[31m is ? 41") + strings.Count(r.prompts[i], "the answer[31m is \uFFFD 41"); got != want {
					t.Errorf("prompt %d tells the failure %d times, want %d: %q", i+1, got, want, r.prompts[i])
				}
			}
			if !strings.Contains(r.prompts[1], "exit code 3") {
				t.Errorf("the exit code is not told: %q", r.prompts[1])
			}
			v := events[rundir.Validation](r, rundir.EventValidation)
			if len(v) != 3 || v[0].Passed || v[0].ExitCode != 3 || !v[1].Passed {
				t.Errorf("validations: %+v", v)
			}
		})
	}
}

// A validation is as hostile as the work that it runs.
func TestHostileValidations(t *testing.T) {
	for name, tt := range map[string]struct {
		command string
		timeout time.Duration
		maxTime int64
		told    string
		longest time.Duration
	}{
		"hangs":                          {"sleep 100000", time.Minute, 0, "time limit of 1m0s", time.Minute + time.Second},
		"hangs, and the run has an end":  {"sleep 100000", 0, 600, "time limit", 11 * time.Minute},
		"hangs longer than the run may":  {"sleep 100000", time.Hour, 600, "time limit", 11 * time.Minute},
		"ends its sandbox":               {"end-sandbox", time.Minute, 0, "the sandbox is gone", time.Second},
		"prints without an end in sight": {"flood; false", time.Minute, 0, "bytes left out", time.Second},
		"is no command":                  {"no-such-command", time.Minute, 0, "not found", time.Second},
	} {
		bubble(t, name, func(t *testing.T) {
			r := newRig(t, says(complete), says("more"))
			r.engine.Program("end-sandbox", func(ctx context.Context, _ *process) int {
				must(t, r.live[len(r.live)-1].Close())
				return hangs(ctx, nil)
			})
			r.engine.Program("flood", func(_ context.Context, p *process) int {
				block := []byte(strings.Repeat("flood\n", 10_000))
				for range 100 << 20 / len(block) {
					_, _ = p.Stdout.Write(block)
				}
				return 0
			})
			r.loop.Rules.Validation, r.loop.Rules.ValidationTimeout = tt.command, tt.timeout
			r.loop.State.Limits.MaxIterations, r.loop.State.Limits.MaxTimeSeconds = 1, tt.maxTime
			began := time.Now()
			r.expect(rundir.Limit, "", 1)
			if took := time.Since(began); took > tt.longest {
				t.Errorf("it took %v", took)
			}
			v := events[rundir.Validation](r, rundir.EventValidation)[0]
			if v.Passed || !strings.Contains(v.Output+v.Error, tt.told) || len(v.Output) > maxFailure {
				t.Errorf("recorded as %.200s: %s", v.Output, v.Error)
			}
			_, checkpoint, err := r.loop.Run.LastCheckpoint()
			must(t, err)
			if !strings.Contains(checkpoint.ValidationFailure, tt.told) {
				t.Errorf("the next iteration is told %.300q", checkpoint.ValidationFailure)
			}
		})
	}
}

// The validation runs after what the agent left running is gone, in a sandbox of
// its own unless the rules keep one.
func TestSandboxesOfAnIteration(t *testing.T) {
	for _, keep := range []bool{false, true} {
		r := newRig(t, says("more"), says(complete))
		r.loop.Rules.Validation, r.loop.Rules.KeepSandbox = "true", keep
		r.expect(rundir.Done, "", 2)
		want := 4
		if keep {
			want = 2 // the second validates once more, where no agent has been
		}
		if got := len(r.engine.Specs()); got != want {
			t.Errorf("keep is %v: %d sandboxes, want %d", keep, got, want)
		}
		if l, e := events[rundir.Launch](r, rundir.EventLaunch), events[rundir.Landed](r, rundir.EventLanded); len(l) != want || len(e) != want {
			t.Errorf("keep is %v: %d launched, %d landed", keep, len(l), len(e))
		}
	}
}

// An agent may remove all that it works on, but for the prompt.
func TestTheWorkIsGone(t *testing.T) {
	r := newRig(t)
	work := t.TempDir()
	r.loop.Tree = NewTree(work)
	r.script(func(ctx context.Context, p *process) int {
		must(t, os.RemoveAll(work))
		return says(complete)(ctx, p)
	})
	r.expect(rundir.Done, "", 1)
}
