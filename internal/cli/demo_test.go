//go:build linux

package cli_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/agent-loop/ralph/internal/cli"
	"github.com/agent-loop/ralph/internal/modeltest"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// TestDemoDoesNotBelieve: an agent that says it is done while the test fails does
// not end the run, and neither does a tape that was altered to say so.
func TestDemoDoesNotBelieve(t *testing.T) {
	t.Run("a wrong fix", func(t *testing.T) {
		wrong := strings.ReplaceAll(demoFix, "% 400", "% 380")
		liar := modeltest.New(t,
			modeltest.Shell(strings.ReplaceAll(wrong, "\nsh test.sh", "")), modeltest.Say("<promise>COMPLETE</promise>"),
			modeltest.Say("<promise>COMPLETE</promise>").Forever())
		out, code := runOnDemo(t, demoPlace(t), "--upstream", liar.URL, "--max-iterations", "3")
		if code == 0 || strings.Contains(out, " is done") || !strings.Contains(out, "validation fails") {
			t.Errorf("exit %d\n%s", code, out)
		}
	})
	t.Run("an altered tape", func(t *testing.T) {
		text, err := os.ReadFile(demoTape)
		altered := strings.ReplaceAll(string(text), "% 400", "% 380")
		if err != nil || altered == string(text) {
			t.Fatalf("nothing was altered, %v", err)
		}
		path := filepath.Join(t.TempDir(), "tape.jsonl")
		if err := os.WriteFile(path, []byte(altered), 0o600); err != nil {
			t.Fatal(err)
		}
		out, code := runOnDemo(t, demoPlace(t), "--replay", path, "--max-iterations", "3")
		if code == 0 || strings.Contains(out, " is done") {
			t.Errorf("exit %d\n%s", code, out)
		}
	})
}

// stranger is an id that nobody has.
const stranger = 54321

// runDemo prepares a demonstration in a folder of its own for temporary files,
// with a home and a state that it must not touch and settings that it must not use.
func runDemo(t *testing.T, before []string, flags ...string) (cmd *exec.Cmd, temp string) {
	t.Helper()
	cmd, state := ralph(t, append([]string{"demo"}, flags...)...)
	if len(before) > 0 {
		cmd.Args = append(append([]string{}, before...), cmd.Args...)
		path, err := exec.LookPath(before[0])
		if err != nil {
			t.Skip(err)
		}
		cmd.Path = path
	}
	temp, home := t.TempDir(), t.TempDir()
	cmd.Env = append(cmd.Env, "TMPDIR="+temp, "HOME="+home, "XDG_CONFIG_HOME="+home,
		"RALPH_AGENT_NAME=codex", "RALPH_AGENT_MODEL=other", "RALPH_BUDGET_MAX_COST_USD=0.00001", "RALPH_LOOP_PROMPT=OTHER.md")
	t.Cleanup(func() {
		for _, dir := range []string{state, home} {
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("what is the user's was touched: %v, %v", left, err)
			}
		}
	})
	return cmd, temp
}

// checkDemo checks what a demonstration said.
func checkDemo(t *testing.T, out string, code int) {
	t.Helper()
	if code != 0 || strings.Contains(out, "GOT OUT") || strings.Contains(out, "ralph: ") {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if refused := len(regexp.MustCompile(`(?m)^  refused  [a-z]`).FindAllString(out, -1)); refused < 6 {
		t.Errorf("%d refusals are told", refused)
	}
	for _, want := range []string{
		"  done after 3 iterations: the agent says that all is done, and the validation passes",
		"  refused  at the gate: ",
		"-    [ $(($1 % 4)) -eq 0 ]",
		"Nothing: the answers were replayed. From a model these 10 calls",
		"nothing was altered.",
		"ralph store-token",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}

// TestDemo: the tape fits every machine, whoever asks, and the run is kept.
func TestDemo(t *testing.T) {
	// hidden is a machine without some programs, or with others in their place.
	hidden := func(script string) []string {
		return []string{"unshare", "--mount", "sh", "-c", "set -e; none=$(mktemp)\n" + script + "\nrm $none; exec \"$@\"", "sh"}
	}
	const hide = `hide() { for p in "$@"; do f=$(command -v "$p") && mount --bind $none "$f"; done; true; }` + "\n"
	tests := []struct {
		name   string
		before []string
		user   uint32
		root   bool // needs root
	}{
		{name: "as it is"},
		{name: "ordinary user", user: stranger, root: true},
		{name: "no network", before: []string{"unshare", "--net"}, root: true},
		{name: "bash as sh", before: hidden(`mount --bind "$(command -v bash)" "$(readlink -f /bin/sh)"`), root: true},
		{name: "dash as sh, no bash", before: hidden(hide + `test -x /bin/dash; mount --bind "$(readlink -f /bin/dash)" "$(readlink -f /bin/sh)"; hide bash`), root: true},
		{name: "no bash, git, curl, wget", before: hidden(hide + "hide bash git curl wget"), root: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.root && os.Geteuid() != 0 {
				t.Skip("needs root")
			}
			cmd, temp := runDemo(t, tt.before)
			if tt.user != 0 {
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: tt.user, Gid: tt.user}}
				if err := os.Chown(temp, int(tt.user), int(tt.user)); err != nil {
					t.Fatal(err)
				}
			}
			printed, err := cmd.CombinedOutput()
			out := string(printed)
			checkDemo(t, out, exitCode(t, err))
			checkKept(t, temp, out)
		})
	}
}

// checkKept checks that the run is where the demonstration says, verifies, and is
// all that is left.
func checkKept(t *testing.T, temp, out string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(temp, "*", "*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "project" {
		t.Fatalf("left: %v, %v", left, err)
	}
	kept := regexp.MustCompile(`(?m)^  kept in (.*)$`).FindStringSubmatch(out)
	if kept == nil || !strings.HasPrefix(kept[1], left[0]) {
		t.Fatalf("the run is kept in %v\n%s", kept, out)
	}
	verify, _ := ralph(t, "verify", "--project", left[0], filepath.Base(kept[1]))
	said, err := verify.CombinedOutput()
	head := regexp.MustCompile(`(?m)^  head *(\w{64})$`)
	if code := exitCode(t, err); code != 0 || head.FindStringSubmatch(string(said))[1] != head.FindStringSubmatch(out)[1] {
		t.Errorf("exit %d\n%s", code, said)
	}
}

// TestDemoInATerminal: there is a live view, and with --keep=false nothing is left;
// twice, for one must not get into the way of the next.
func TestDemoInATerminal(t *testing.T) {
	for range 2 {
		cmd, temp := runDemo(t, nil, "--keep=false")
		cmd.Env = append(cmd.Env, "TERM=xterm")
		terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
		if err != nil {
			t.Fatal(err)
		}
		printed, err := io.ReadAll(terminal)
		if err != nil && !errors.Is(err, syscall.EIO) { // how a terminal ends
			t.Fatal(err)
		}
		out := strings.ReplaceAll(string(printed), "\r\n", "\n")
		checkDemo(t, out, exitCode(t, cmd.Wait()))
		if !strings.Contains(out, "\x1b[1mWhat it cost\x1b[0m") {
			t.Errorf("it is plain: %q", out)
		}
		terminal.Close()
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
}

// noEngine is one that does not work here.
type noEngine struct{ sandbox.Engine }

func (noEngine) Name() string { return "gvisor" }

func (noEngine) Probe(context.Context) (sandbox.Info, error) {
	return sandbox.Info{}, &sandbox.UnavailableError{Engine: "gvisor", Reason: "it does not run here", Fix: "go elsewhere"}
}

// TestDemoWithoutAnEngine: the engine's words are all that there is to see.
func TestDemoWithoutAnEngine(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	var out, problem bytes.Buffer
	code := cli.Main(t.Context(), cli.World{
		In: strings.NewReader(""), Out: &out, Err: &problem, Getenv: os.Getenv,
		Engines: func(string) []sandbox.Engine { return []sandbox.Engine{noEngine{}} },
	}, []string{"demo"})
	if code != 5 || out.Len() > 0 || !strings.Contains(problem.String(), "it does not run here") || !strings.Contains(problem.String(), "ralph: hint: go elsewhere") {
		t.Errorf("exit %d\n%s%s", code, &out, &problem)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
