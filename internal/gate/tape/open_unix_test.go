//go:build unix

package tape_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/gate/tape"
)

// A tape may lie in a project, and a pipe there would be waited for without end.
func TestOpenDoesNotWaitForAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "tape.jsonl")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		_, err := tape.Open(pipe, tape.Options{})
		opened <- err
	}()
	// A writer that does not wait gets in only where a reader does.
	for {
		select {
		case err := <-opened:
			if err == nil {
				t.Error("a pipe was taken for a tape")
			}
			return
		default:
			if fd, err := syscall.Open(pipe, syscall.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
				_ = syscall.Close(fd)
				t.Fatal("it waits for the other end")
			}
		}
	}
}
