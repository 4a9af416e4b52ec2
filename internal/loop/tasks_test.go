package loop

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/task"
)

// tasksRig is a run with a task file of two open stories.
func tasksRig(t *testing.T, acts ...act) *rig {
	t.Helper()
	r := newRig(t, acts...)
	r.write("prd.json", stories(false, false))
	r.loop.Rules.Tasks = "prd.json"
	r.loop.Tasks = []byte(stories(false, false))
	r.loop.State.Limits.MaxIterations = 1
	return r
}

// list is the task file as it is now.
func (r *rig) list() *task.List {
	r.t.Helper()
	list, err := task.Load(r.loop.Project, "prd.json")
	must(r.t, err)
	return list
}

// An agent may say of stories that they pass, and no more. Whatever else it does to
// the file is put back, and told.
func TestWhatAnAgentDoesToItsTasks(t *testing.T) {
	for name, tt := range map[string]struct {
		does      func(t *testing.T, path string)
		passing   int    // what is left of its work
		change    string // is told
		violation string
		problem   string
	}{
		"a story passes":      {put(stories(true, false)), 1, `one: passes: "false" -> "true"`, "", ""},
		"a story removed":     {put(`{"userStories":[{"id":"one","title":"First","acceptanceCriteria":["it works"],"passes":true}]}`), 1, "one: passes", `two: story: "Second" -> ""`, ""},
		"criteria edited":     {put(strings.Replace(stories(true, false), "it works too", "it is there", 1)), 1, "one: passes", "two: acceptanceCriteria", ""},
		"a story added":       {put(strings.Replace(stories(true, false), `[`, `[{"id":"new","title":"New","acceptanceCriteria":["x"],"passes":true},`, 1)), 1, "one: passes", "new: story", ""},
		"not JSON":            {put("done!"), 0, "", "", "prd.json"},
		"another language":    {put(`{"userStories":[],"x":1}`), 0, "", "", "prd.json"},
		"deleted":             {func(t *testing.T, path string) { must(t, os.Remove(path)) }, 0, "", "", "was removed"},
		"a link to elsewhere": {func(t *testing.T, path string) { must(t, os.Remove(path), os.Symlink("/etc/passwd", path)) }, 0, "", "", "symbolic link"},
		"a folder": {func(t *testing.T, path string) {
			must(t, os.Remove(path), os.MkdirAll(filepath.Join(path, "deep", "er"), 0o755))
		}, 0, "", "", "not a regular file"},
		"huge": {put(`{"userStories":[` + strings.Repeat(" ", 2<<20)), 0, "", "", "larger than"},
	} {
		t.Run(name, func(t *testing.T) {
			r := tasksRig(t)
			r.script(func(ctx context.Context, p *process) int {
				tt.does(t, filepath.Join(r.project, "prd.json"))
				return says(complete)(ctx, p)
			})
			r.expect(rundir.Limit, "", 1) // complete or not: a story is open
			list := r.list()
			if passing, all := list.Count(); passing != tt.passing || all != 2 || list.Stories[1].Acceptance[0] != "it works too" {
				t.Errorf("the file is now %s", r.read("prd.json"))
			}
			told := events[rundir.Tasks](r, rundir.EventTask)[0]
			if !strings.Contains(strings.Join(told.Changes, "\n"), tt.change) || !strings.Contains(strings.Join(told.Violations, "\n"), tt.violation) || !strings.Contains(told.Problem, tt.problem) {
				t.Errorf("told as %+v", told)
			}
			if (tt.violation == "") != (len(told.Violations) == 0) || (tt.problem == "") != (told.Problem == "") || told.All != 2 || told.Passing != tt.passing {
				t.Errorf("told as %+v", told)
			}
			if left, _ := filepath.Glob(filepath.Join(r.project, "*.ralph-new")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func put(text string) func(*testing.T, string) {
	return func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte(text), 0o644)) }
}

// A story goes into the prompt by its turn.
func TestTheNextStoryIsInThePrompt(t *testing.T) {
	r := tasksRig(t)
	r.write("PROMPT.md", "do {{task}}")
	r.script(r.writes("prd.json", stories(true, false), "more"), r.writes("prd.json", stories(true, true), "more"))
	r.loop.State.Limits.MaxIterations = 5
	r.expect(rundir.Done, "all 2 stories pass", 2)
	if !strings.Contains(r.prompts[0], "one: First") || !strings.Contains(r.prompts[1], "two: Second") {
		t.Errorf("prompts: %q", r.prompts)
	}
}

// When no story is left but the work is not valid, the prompt says what there is to do.
func TestTheValidationIsTheTaskWhenNoStoryIsLeft(t *testing.T) {
	r := tasksRig(t)
	r.write("PROMPT.md", "do {{task}}")
	r.script(r.writes("prd.json", stories(true, true), "more"))
	r.loop.Rules.Validation = "false"
	r.loop.State.Limits.MaxIterations = 2
	r.expect(rundir.Limit, "limit of 2 iterations", 2)
	if !strings.Contains(r.prompts[1], "do "+allPass) {
		t.Errorf("prompts: %q", r.prompts)
	}
}

// Who edits the file between two sessions is a person, if the run ended in order;
// after a crash it may have been the agent.
func TestWhoseEditItIs(t *testing.T) {
	edited := strings.Replace(stories(true, false), "it works too", "it is easier now", 1)
	for name, tt := range map[string]struct {
		status rundir.Status
		want   string
	}{
		"after a pause":     {rundir.Paused, "it is easier now"},
		"after a stop":      {rundir.Stopped, "it is easier now"},
		"after a limit":     {rundir.Limit, "it is easier now"},
		"after an error":    {rundir.Failed, "it is easier now"},
		"after a crash":     {rundir.Running, "it works too"},
		"after a long wait": {rundir.NeedsAttention, "it is easier now"},
	} {
		t.Run(name, func(t *testing.T) {
			r := tasksRig(t)
			r.script(r.writes("prd.json", stories(true, false), "more"))
			r.expect(rundir.Limit, "", 1)
			state := r.state()
			state.Status, state.EndedAt = tt.status, nil
			must(t, r.loop.Run.SaveState(state))
			r.write("prd.json", edited)
			r.resume()
			seen := ""
			r.script(func(ctx context.Context, p *process) int {
				seen = r.read("prd.json") // mended before an agent can rely on it
				return says("more")(ctx, p)
			})
			r.loop.State.Limits.MaxIterations = 2
			r.expect(rundir.Limit, "", 2)
			list := r.list()
			if passing, _ := list.Count(); passing != 1 || list.Stories[1].Acceptance[0] != tt.want || !strings.Contains(seen, tt.want) {
				t.Errorf("the agent saw %s\nin the end it is %s", seen, r.read("prd.json"))
			}
		})
	}
}

// An agent that was cut off has had no chance to pass its edits off as a person's.
func TestAStopMendsTheTasksFirst(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		r := tasksRig(t)
		r.script(func(ctx context.Context, p *process) int {
			r.write("prd.json", strings.Replace(stories(true, false), "it works too", "it is there", 1))
			must(t, r.loop.Run.Ask(rundir.StopRequest))
			return hangs(ctx, p)
		})
		r.expect(rundir.Stopped, "", 0)
		if got := r.list().Stories[1].Acceptance[0]; got != "it works too" {
			t.Errorf("the file is now %s", r.read("prd.json"))
		}
		if told := events[rundir.Tasks](r, rundir.EventTask); len(told) != 1 || len(told[0].Violations) != 1 {
			t.Errorf("told as %+v", told)
		}
	})
}

// A crash before the first checkpoint leaves what the run was made with.
func TestTheFirstTasksAreKept(t *testing.T) {
	r := tasksRig(t, says("more"))
	must(t, os.Remove(filepath.Join(r.project, "prd.json")))
	r.expect(rundir.Limit, "", 1)
	if passing, all := r.list().Count(); passing != 0 || all != 2 {
		t.Errorf("the file is now %s", r.read("prd.json"))
	}
}
