//go:build unix

package mini_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agent-loop/ralph/internal/mini"
	"github.com/agent-loop/ralph/internal/modeltest"
)

// command runs one command through the agent and returns its result.
func command(t *testing.T, text string, change ...func(*mini.Options)) (event, run, *modeltest.Server) {
	t.Helper()
	server := modeltest.New(t, modeltest.Shell(text), modeltest.Say("done"))
	options := optionsFor(t, server)
	for _, c := range change {
		c(&options)
	}
	r := do(t, t.Context(), options)
	r.want(t, mini.Done, 0)
	return r.of("tool_result")[0], r, server
}

// TestVastOutput: a command that prints a gigabyte runs to its end, and what is
// kept is its head and its tail.
func TestVastOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("a gigabyte is not for -short")
	}
	result, _, server := command(t, "echo the-head; head -c 1073741824 /dev/zero | tr '\\0' x; echo; echo the-tail")
	if result.OutputBytes != 1<<30+19 || !result.OK {
		t.Errorf("%d bytes, %+v", result.OutputBytes, result.ExitCode)
	}
	body := string(server.Calls()[1].Body)
	if len(body) > 50_000 || !strings.Contains(body, "the-head") || !strings.Contains(body, "the-tail") || !strings.Contains(body, "bytes cut") {
		t.Errorf("the model got %d bytes", len(body))
	}
}

// TestHangingCommand: it ends with all that it started, and the model is told.
func TestHangingCommand(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	result, r, _ := command(t, "trap '' TERM INT; sleep 600 & echo $! >"+pids+"; echo $$ >>"+pids+"; echo waiting; wait; sleep 600",
		func(o *mini.Options) { o.ToolTimeout = time.Second })
	if !result.TimedOut || result.OK || !strings.HasPrefix(result.Output, "waiting\n") || !strings.Contains(result.Output, "the time is up") {
		t.Errorf("%+v", result)
	}
	if r.took > 30*time.Second {
		t.Errorf("took %v", r.took)
	}
	wantGone(t, pids)
}

// TestChildrenLeftBehind: a background process that holds the output neither
// holds up the agent nor lives on.
func TestChildrenLeftBehind(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	result, r, _ := command(t, "sleep 600 & echo $! >"+pids+"; (sleep 600; echo never) & echo $! >>"+pids+"; echo started")
	if !result.OK || result.Output != "started\n" || r.took > 30*time.Second {
		t.Errorf("%+v after %v", result, r.took)
	}
	wantGone(t, pids)
}

// TestDetachedChild: one that leaves the group lives on, as the tool promises,
// even when it forgot to let go of the output.
func TestDetachedChild(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	result, r, _ := command(t, "mkfifo f; setsid sh -c 'echo $$ >"+pids+"; echo up >f; exec sleep 600' & read line <f; echo $line")
	data, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the detached process is gone: %v", err)
	}
	if !result.OK || result.Output != "up\n" || r.took > 30*time.Second {
		t.Errorf("%+v after %v", result, r.took)
	}
}

// wantGone fails if a process of the list runs. A killed one may take a moment.
func wantGone(t *testing.T, list string) {
	t.Helper()
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(10 * time.Second); running(pid); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d runs on", pid)
			}
		}
	}
}

// running tells whether a process is there and no zombie, which is what remains
// where nobody reaps.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func TestBinaryOutput(t *testing.T) {
	result, _, server := command(t, `printf 'a\377\376\000\033[31mb\r\nc\rd\302'`)
	if result.Output != "a\uFFFD[31mb\nc\nd\uFFFD" {
		t.Errorf("%q", result.Output)
	}
	if body := server.Calls()[1].Body; !utf8.Valid(body) {
		t.Errorf("%q", body)
	}
}

// TestCommandsHaveNoInput: one that reads gets nothing, and not the prompt.
func TestCommandsHaveNoInput(t *testing.T) {
	if result, _, _ := command(t, "cat; echo end"); result.Output != "end\n" {
		t.Errorf("%+v", result)
	}
}

func TestMissingDirectory(t *testing.T) {
	result, _, _ := command(t, "true", func(o *mini.Options) { o.Dir = filepath.Join(o.Dir, "gone") })
	if result.OK || result.ExitCode != -1 || !strings.Contains(result.Output, "could not be run") {
		t.Errorf("%+v", result)
	}
}
