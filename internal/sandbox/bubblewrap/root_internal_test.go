//go:build linux

package bubblewrap

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/proc"
)

// TestViewsAreOfOneThread mounts something before the command starts, and looks for
// it from many other threads.
func TestViewsAreOfOneThread(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root mounts anything")
	}
	dir := t.TempDir()
	inside := filepath.Join(dir, "inside")
	before := func() error {
		return errors.Join((&views{}).enter(), unix.Mount("none", dir, "tmpfs", 0, ""), os.WriteFile(inside, nil, 0o600))
	}
	p, err := proc.AttachAfter(before, exec.Command("test", "-e", inside))
	if err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	if code := p.ExitCode(); code != 0 {
		t.Errorf("the command did not see what was mounted for it: exit code %d", code)
	}
	for range 100 {
		seen := make(chan error)
		go func() {
			_, err := os.Stat(inside)
			seen <- err
		}()
		if err := <-seen; !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("another thread sees it: %v", err)
		}
	}
}
