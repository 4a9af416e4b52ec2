//go:build unix

package task

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// An agent that puts a pipe in a file's place must not hang the run.
func TestPipesAreNotRead(t *testing.T) {
	dir, root := workspace(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "prd.json"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(root, "prd.json"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("Load of a pipe: %v", err)
	}
}
