package loop

import (
	"bytes"
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
func (r *runner) openTasks() (*tasks, error) {
	if r.Rules.Tasks == "" {
		return nil, nil
	}
	t := &tasks{root: r.Files, name: r.Rules.Tasks}
	base, err := r.personsTasks()
	if err != nil {
		return nil, err
	}
	if base != nil {
		t.watch = task.ResumeWatch(t.root, t.name, base)
		t.look()
		return t, nil
	}
	watch, err := task.NewWatch(t.root, t.name)
	if err != nil {
		return nil, err
	}
	t.watch, t.now = watch, watch.Base()
	return t, nil
}

// personsTasks is the task file as a person last had it, where that is not the very
// file that the agent works on; nil: it is. An agent with files of its own has a copy:
// what a person changes in the project holds for it all the same.
func (r *runner) personsTasks() (*task.List, error) {
	kept := r.firstTasks()
	if r.Files != r.Project {
		list, err := task.Load(r.Project, r.Rules.Tasks)
		if err == nil && !sameTasks(list, r.Tasks) || len(kept) == 0 {
			return list, err
		}
	}
	if r.Files == r.Project && (r.State.Status != rundir.Running || len(kept) == 0) {
		return nil, nil
	}
	list, err := task.Parse(kept)
	if err != nil {
		return nil, fmt.Errorf("reading the task file that the run kept: %w", err)
	}
	return list, nil
}

func sameTasks(list *task.List, as jsontext.Value) bool {
	text, err := list.Encode()
	return err == nil && bytes.Equal(text, as)
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

// believed is the whole list, as far as it is believed.
func (t *tasks) believed() jsontext.Value {
	if t == nil || t.now == nil {
		return nil
	}
	text, err := t.now.Encode()
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
