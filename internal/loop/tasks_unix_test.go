//go:build unix

package loop

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/rundir"
)

// A pipe in the place of the task file does not make the loop wait for a writer.
func TestTasksReplacedByAPipe(t *testing.T) {
	r := tasksRig(t)
	path := filepath.Join(r.project, "prd.json")
	r.script(func(ctx context.Context, p *process) int {
		must(t, os.Remove(path), syscall.Mkfifo(path, 0o644))
		return says(complete)(ctx, p)
	})
	r.expect(rundir.Limit, "", 1)
	if _, all := r.list().Count(); all != 2 {
		t.Errorf("the file is now %s", r.read("prd.json"))
	}
}
