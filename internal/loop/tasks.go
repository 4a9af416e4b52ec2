package loop

import (
	"fmt"
	"os"
	"path"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/task"
	"github.com/agent-loop/ralph/internal/wholefile"
)

// tasks is the task file of a run. A nil one is none.
type tasks struct {
	root  *os.Root
	name  string
	watch *task.Watch
	now   *task.List
}

// openTasks reads the task file. A run that ended in order takes it as it is: who
// edits it meanwhile is a person. After a crash the agent may have been at it, so
// what it may not change is as the run has kept it.
func openTasks(root *os.Root, name string, kept jsontext.Value, was rundir.Status) (*tasks, error) {
	if name == "" {
		return nil, nil
	}
	t := &tasks{root: root, name: name}
	if was == rundir.Running && len(kept) > 0 {
		base, err := task.Parse(kept)
		if err != nil {
			return nil, fmt.Errorf("reading the task file that the run kept: %w", err)
		}
		t.watch = task.ResumeWatch(root, name, base)
		t.look()
		return t, nil
	}
	watch, err := task.NewWatch(root, name)
	if err != nil {
		return nil, err
	}
	t.watch, t.now = watch, watch.Base()
	return t, nil
}

// list is what the file says, as far as it is believed; nil: there is none.
func (t *tasks) list() *task.List {
	if t == nil {
		return nil
	}
	return t.now
}

// base is what is kept for after a crash.
func (t *tasks) base() jsontext.Value {
	if t == nil {
		return nil
	}
	text, err := t.watch.Base().Encode()
	if err != nil {
		return nil
	}
	return text
}

// look reads the file again, and mends it where the agent changed what is not its
// own to change.
func (t *tasks) look() task.Update {
	if t == nil {
		return task.Update{}
	}
	update := t.watch.Look()
	t.now = update.List
	if update.Problem != nil || len(update.Violations) > 0 {
		if err := t.restore(update.List); err != nil && update.Problem == nil {
			update.Problem = err
		}
	}
	return update
}

// restore writes the list as it is believed over what the agent left there.
func (t *tasks) restore(list *task.List) error {
	text, err := list.Encode()
	if err != nil {
		return err
	}
	_ = t.root.MkdirAll(path.Dir(t.name), 0o755)
	if err := wholefile.Replace(t.root, t.name, text, 0o644); err != nil {
		return fmt.Errorf("mending %s: %w", t.name, err)
	}
	return nil
}

// noteTasks records what became of the task file in an iteration.
func (r *runner) noteTasks(n int, u task.Update) {
	if u.List == nil || len(u.Changes)+len(u.Violations) == 0 && u.Problem == nil {
		return
	}
	passing, all := u.List.Count()
	e := rundir.Tasks{File: r.Rules.Tasks, Passing: passing, All: all, Changes: words(u.Changes), Violations: words(u.Violations)}
	if u.Problem != nil {
		e.Problem = u.Problem.Error()
	}
	r.note(rundir.EventTask, n, e)
}

// maxChanges is how many changes of a task file are told.
const maxChanges = 50

func words(changes []task.Change) []string {
	var list []string
	for _, c := range changes[:min(len(changes), maxChanges)] {
		list = append(list, c.String())
	}
	return list
}
