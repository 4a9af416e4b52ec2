//go:build unix

package proc_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/proc"
)

func sh() proc.Program { return proc.Program{Path: "/bin/sh", Env: []string{"A=1"}} }

func TestOutput(t *testing.T) {
	out, err := sh().Output(t.Context(), "-c", "echo $A; echo words >&2")
	if err != nil || out != "1\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestOutputOfFailures(t *testing.T) {
	for name, tt := range map[string]struct {
		script, want string
		code         int
	}{
		"words":    {"echo out; echo no such thing >&2; exit 3", "sh -c", 3},
		"no words": {"exit 4", "exit status 4", 4},
		"too much": {"head -c 20000000 /dev/zero", "sh -c", -2},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := sh().Output(t.Context(), "-c", tt.script)
			var failed *proc.Error
			if !errors.As(err, &failed) || out != "" || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %d bytes, %v", len(out), err)
			}
			if tt.code >= 0 && failed.Code != tt.code {
				t.Errorf("code %d", failed.Code)
			}
		})
	}
	if _, err := (proc.Program{Path: "/no/such/program"}).Output(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestOutputEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := sh().Output(ctx, "-c", "sleep 30 & sleep 30"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestAttach(t *testing.T) {
	a, err := proc.Attach(exec.Command("/bin/sh", "-c", "exit 5"))
	if err != nil {
		t.Fatal(err)
	}
	<-a.Exited()
	if a.ExitCode() != 5 || a.PID() <= 0 {
		t.Errorf("code %d, pid %d", a.ExitCode(), a.PID())
	}
	a.Kill() // harmless
	long, err := proc.Attach(exec.Command("/bin/sh", "-c", "while :; do sleep 1; done"))
	if err != nil {
		t.Fatal(err)
	}
	long.Kill()
	if long.ExitCode() != -1 {
		t.Errorf("code %d", long.ExitCode())
	}
	if _, err := proc.Attach(exec.Command("/no/such/program")); err == nil {
		t.Error("started nothing")
	}
}

func TestNothingStartsWhenWhatComesBeforeFails(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "started")
	broken := errors.New("broken")
	_, err := proc.AttachAfter(func() error { return broken }, exec.Command("touch", marker))
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the command ran all the same")
	}
}
