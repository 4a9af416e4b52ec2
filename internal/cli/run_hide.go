package cli

import (
	"errors"
	"io/fs"
	"os"
)

const (
	recordFolder = ".ralph"
	recordIgnore = ".ralph/.gitignore"
)

// hideRecord keeps the record of runs out of the project's commits. The returned
// function takes that back if the run never began, and no other left a record at runs.
// A project that cannot be written so is none the worse for a run.
func hideRecord(project, runs string) (settle func()) {
	root, err := os.OpenRoot(project)
	if err != nil {
		return func() {}
	}
	file, err := root.OpenFile(recordIgnore, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	made := err == nil // or somebody else did, and it is not ours to remove
	if made {
		_, _ = file.WriteString("*\n")
		_ = file.Close()
	}
	return func() {
		defer root.Close()
		if _, err := os.Lstat(runs); !errors.Is(err, fs.ErrNotExist) {
			return
		}
		if made {
			_ = root.Remove(recordIgnore)
		}
		_ = root.Remove(recordFolder) // unless there is more in it
	}
}
