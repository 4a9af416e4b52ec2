package cli_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/rundir"
)

// logsOf starts ralph logs for a run that the test writes.
func logsOf(t *testing.T, args ...string) (*rundir.Run, *exec.Cmd, io.ReadCloser) {
	t.Helper()
	project := t.TempDir()
	run, err := rundir.Create(filepath.Join(project, ".ralph", "runs"), "one", struct{}{}, rundir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { run.Close() })
	note(t, run, "first")
	if err := run.Sync(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(ralphBinary, append([]string{"logs", "one", "-C", project}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "RALPH_STATE_DIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return run, cmd, out
}

func note(t *testing.T, run *rundir.Run, text string) {
	t.Helper()
	if err := run.Append(rundir.EventNote, 0, rundir.Note{Text: text}); err != nil {
		t.Fatal(err)
	}
}

func TestLogsFollowsARunToItsEnd(t *testing.T) {
	run, cmd, out := logsOf(t, "-f")
	lines := bufio.NewScanner(out)
	for _, text := range []string{"first", "second", "third"} {
		if text != "first" {
			note(t, run, text)
		}
		if !lines.Scan() || !strings.HasSuffix(lines.Text(), "note: "+text) {
			t.Fatalf("got %q, want the note %q: %v", lines.Text(), text, lines.Err())
		}
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	if lines.Scan() {
		t.Errorf("got %q after the end", lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestCtrlCIsTheEndOfLogsAndNoFailure(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be sent Ctrl-C there")
	}
	_, cmd, out := logsOf(t, "-f")
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal(lines.Err())
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if lines.Scan() {
		t.Errorf("got %q", lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestLogsEndsWithItsReader: "ralph logs -f | head -1" is no failure either.
func TestLogsEndsWithItsReader(t *testing.T) {
	run, cmd, out := logsOf(t, "-f", "--json")
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	note(t, run, "nobody reads this")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
