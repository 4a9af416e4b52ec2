package cli

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/task"
	"github.com/agent-loop/ralph/internal/wholefile"
)

// useClone has the loop look at the agent's files where they are, or at copies of
// those that it must know.
func (x *execution) useClone(ctx context.Context, work *runGit) error {
	if x.plan.inPlace() {
		return nil
	}
	if x.plan.inside() {
		if err := os.MkdirAll(work.box.work, 0o700); err != nil {
			return fmt.Errorf("making room for the agent's files: %w", err)
		}
	}
	files, err := os.OpenRoot(work.box.work)
	if err != nil {
		return fmt.Errorf("opening the clone: %w", err)
	}
	x.closers = append(x.closers, files.Close)
	x.loop.Files = files
	if x.plan.inside() {
		work.inside = &inside{work: work, files: newMirror(files, x.plan.spec.Project, x.plan.config.Loop.Tasks)}
		x.loop.Mirror, x.loop.Tree = work.inside.files, nil
	}
	tracked, err := work.tracksTasks(ctx, work.store.Base)
	if err == nil && !tracked {
		x.shareTasks(x.loop.Project, x.plan.config.Loop.Tasks)
	}
	return err
}

// shareTasks writes what became of the tasks to the project's own task file after each
// iteration, where git does not bring it. What a person changes there meanwhile stays.
func (x *execution) shareTasks(project *os.Root, name string) {
	known, readable := digestOf(project, name)
	x.loop.Share = func(tasks jsontext.Value) {
		now, ok := digestOf(project, name)
		if !readable || !ok || now != known || len(tasks) == 0 || now == sha256.Sum256(tasks) {
			return
		}
		if err := wholefile.Replace(project, name, tasks, 0o644); err != nil {
			_ = x.run.Append(rundir.EventNote, 0, rundir.Note{Text: fmt.Sprintf("the task file of the project is not up to date: %v", err)})
			return
		}
		known, readable = digestOf(project, name)
	}
}

// digestOf tells the content of a task file.
func digestOf(project *os.Root, name string) (sum [sha256.Size]byte, ok bool) {
	list, err := task.Load(project, name)
	if err != nil {
		return sum, false
	}
	text, err := list.Encode()
	return sha256.Sum256(text), err == nil
}
