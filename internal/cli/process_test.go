//go:build linux

package cli_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/agent-loop/ralph/internal/sandbox/gvisor"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// ralph prepares a command line in an empty workspace, with a state folder of
// its own.
func ralph(t *testing.T, args ...string) (cmd *exec.Cmd, state string) {
	t.Helper()
	if testing.Short() {
		t.Skip("sandboxes are not for -short")
	}
	if _, err := gvisor.New(t.TempDir(), ralphBinary).Probe(t.Context()); err != nil {
		sandboxtest.SkipEngine(t, err)
	}
	state = t.TempDir()
	if err := os.Chmod(filepath.Dir(state), 0o711); err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), ralphBinary, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "RALPH_STATE_DIR="+state, "TERM=dumb")
	return cmd, state
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

// A terminal inside is a new one: it has our size, and the exit code and the
// keys pass.
func TestTerminal(t *testing.T) {
	cmd, _ := ralph(t, "exec", "-t", "--", "sh")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 33, Cols: 77})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if _, err := terminal.WriteString("stty size; test -t 0 && echo is-a-terminal; exit 3\n"); err != nil {
		t.Fatal(err)
	}
	var screen bytes.Buffer
	_, _ = io.Copy(&screen, terminal) // ends with an error when the other side closes
	if code := exitCode(t, cmd.Wait()); code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
	for _, want := range []string{"33 77", "\nis-a-terminal"} {
		if !strings.Contains(screen.String(), want) {
			t.Errorf("the screen shows %q, want %q in it", &screen, want)
		}
	}
}

func TestTerminalNeedsOne(t *testing.T) {
	cmd, state := ralph(t, "exec", "-t", "--", "true")
	cmd.Stdin = strings.NewReader("")
	out, err := cmd.CombinedOutput()
	if left, _ := os.ReadDir(state); len(left) > 0 {
		t.Errorf("created before it was refused: %v", left)
	}
	if code := exitCode(t, err); code != 2 || !strings.Contains(string(out), "ralph: --tty needs a terminal") {
		t.Errorf("exit code %d, %s", code, out)
	}
}

// An interrupt ends the sandbox, cleans up and gives 130; so does a termination.
func TestSignalsEndTheSandbox(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			cmd, state := ralph(t, "exec", "--", "sh", "-c", "echo up; sleep 300")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
				t.Fatalf("got %q, %v", line, err)
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if code := exitCode(t, cmd.Wait()); code != 130 {
				t.Errorf("exit code %d, want 130", code)
			}
			for _, pattern := range []string{filepath.Join(state, "*", "*"), filepath.Join(cmd.Dir, "*"), filepath.Join(cmd.Dir, ".*")} {
				if left, _ := filepath.Glob(pattern); len(left) > 0 {
					t.Errorf("left behind: %v", left)
				}
			}
		})
	}
}
