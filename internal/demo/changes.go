package demo

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// maxFile is far more than the files of the project have.
const maxFile = 64 << 10

// Changes is what became of the project's files, as a unified diff. An agent
// could write there: no link is followed out of the folder, no program that it
// could have set up is run, and the text is hostile.
func (p Place) Changes() (string, error) {
	now, err := os.OpenRoot(p.Project())
	if err != nil {
		return "", fmt.Errorf("looking for changes: %w", err)
	}
	defer now.Close()
	before, err := fs.Sub(files, "project")
	if err != nil {
		return "", fmt.Errorf("looking for changes: %w", err)
	}
	names, err := fs.Glob(before, "*")
	if err != nil {
		return "", fmt.Errorf("looking for changes: %w", err)
	}
	text := ""
	for _, name := range names {
		was, err := fs.ReadFile(before, name)
		if err != nil {
			return "", fmt.Errorf("looking for changes: %w", err)
		}
		is, err := readCapped(now, name)
		if err != nil {
			return "", fmt.Errorf("looking for changes: %w", err)
		}
		_, hunks, _ := strings.Cut(string(diff.Diff("a/"+name, was, "b/"+name, is)), "\n") // after the command line
		text += hunks
	}
	return text, nil
}

// readCapped reads a regular file. One that is gone is empty.
func readCapped(root *os.Root, name string) ([]byte, error) {
	info, err := root.Lstat(name)
	switch {
	case os.IsNotExist(err):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return nil, fmt.Errorf("%s is no longer an ordinary small file", name)
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxFile))
}
