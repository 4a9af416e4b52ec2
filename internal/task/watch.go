package task

import (
	"errors"
	"io/fs"
	"os"
)

// Watch follows a task file through a run. It holds the version that the run
// started with, and takes over from the file only what an agent may change.
type Watch struct {
	root *os.Root
	name string
	base *List
	last *List
}

// Update is what a look at the file found.
type Update struct {
	List       *List    // what holds now; never nil
	Changes    []Change // since the last look, all of them permitted
	Violations []Change // against the base
	Problem    error    // the file cannot be used; List is that of the last look
}

// NewWatch reads the task file as it is at the start of a run.
func NewWatch(root *os.Root, name string) (*Watch, error) {
	base, err := Load(root, name)
	if err != nil {
		return nil, err
	}
	return ResumeWatch(root, name, base), nil
}

// ResumeWatch goes on with the base of an earlier start, which the run has kept.
func ResumeWatch(root *os.Root, name string, base *List) *Watch {
	return &Watch{root: root, name: name, base: base, last: base}
}

// Base is the version that the run started with.
func (w *Watch) Base() *List { return w.base }

// Look reads the file again. A file that is gone, broken, or not a file any more
// is a Problem, and the list stays as it was.
func (w *Watch) Look() Update {
	now, err := Load(w.root, w.name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New(w.name + " was removed")
		}
		return Update{List: w.last, Problem: err}
	}
	_, violations := Diff(w.base, now)
	merged := Merge(w.base, now)
	changes, _ := Diff(w.last, merged)
	w.last = merged
	return Update{List: merged, Changes: changes, Violations: violations}
}
