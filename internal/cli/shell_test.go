//go:build linux

package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/agent-loop/ralph/internal/modeltest"
)

const realAnthropicKey = "sk-ant-api03-REALTOKEN-OF-THE-USER-0123456789abcdefghijklmnopqrstuvwxyz-AA"

// desk is where a person sits: one project and one state folder for all commands.
type desk struct {
	t       *testing.T
	project string
	state   string
	env     []string
}

// newDesk has real agents in its PATH, and a credential for them.
func newDesk(t *testing.T, agent, credential string) *desk {
	t.Helper()
	bin := filepath.Dir(modeltest.Agent(t, agent))
	d := bareDesk(t)
	d.env = append(d.env, "PATH="+bin+":"+os.Getenv("PATH"), "RALPH_AGENT_CREDENTIAL=env:USERS_TOKEN", "USERS_TOKEN="+credential)
	return d
}

func bareDesk(t *testing.T) *desk {
	t.Helper()
	cmd, state := ralph(t)
	return &desk{t: t, project: cmd.Dir, state: state, env: append(cmd.Env, "TERM=xterm-256color")}
}

func (d *desk) shell(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(d.t.Context(), ralphBinary, append([]string{"shell"}, args...)...)
	cmd.Dir, cmd.Env = d.project, d.env
	return cmd
}

// ask runs a shell without a terminal.
func (d *desk) ask(want int, args ...string) (stdout, stderr string) {
	d.t.Helper()
	cmd := d.shell(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if code := exitCode(d.t, cmd.Run()); code != want {
		d.t.Fatalf("%q: exit code %d, want %d\n%s\n%s", args, code, want, &out, &errs)
	}
	return out.String(), errs.String()
}

// sit runs a shell in a terminal.
func (d *desk) sit(size pty.Winsize, args ...string) *display {
	d.t.Helper()
	cmd := d.shell(args...)
	file, err := pty.StartWithSize(cmd, &size)
	if err != nil {
		d.t.Fatal(err)
	}
	patience := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() }) // then the screen ends
	d.t.Cleanup(func() { patience.Stop(); file.Close() })
	return &display{File: file, t: d.t, cmd: cmd}
}

// display is a terminal that somebody looks at.
type display struct {
	*os.File
	t    *testing.T
	cmd  *exec.Cmd
	raw  []byte
	read int // how much of the text was waited for
}

// drawing is all that a program sends to a terminal but text. Programs jump over
// spaces instead of drawing them, so that spaces are no text either.
var drawing = regexp.MustCompile(`\x1b\[[0-9;:?<>=]*[ -/]*[@-~]|\x1b[\]P_^][^\x07\x1b]*(\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x1b.|\s`)

func (d *display) text() string { return drawing.ReplaceAllString(string(d.raw), "") }

// until waits for text after that which was waited for before.
func (d *display) until(text string) {
	d.t.Helper()
	d.untilMatch(regexp.MustCompile(regexp.QuoteMeta(drawing.ReplaceAllString(text, ""))))
}

// untilMatch waits for text without its spaces.
func (d *display) untilMatch(want *regexp.Regexp) {
	d.t.Helper()
	for chunk := make([]byte, 64<<10); ; {
		shown := d.text()
		if at := want.FindStringIndex(shown[min(d.read, len(shown)):]); at != nil {
			d.read += at[1]
			return
		}
		n, err := d.Read(chunk)
		if err != nil {
			d.t.Fatalf("the screen ends without %q: %.5000s", want, shown)
		}
		d.raw = append(d.raw, chunk[:n]...)
	}
}

// turnEnd is what Claude Code shows when it has answered. Before, the answer may not
// be in the session yet.
var turnEnd = regexp.MustCompile(`✻\pL+for\d+s`)

// say types a line, and sends it once it is shown.
func (d *display) say(line string) {
	d.t.Helper()
	_, _ = d.WriteString(line)
	d.until(line)
	_, _ = d.WriteString("\r")
}

// end reads the rest of the screen and returns the exit code.
func (d *display) end() int {
	d.t.Helper()
	for chunk := make([]byte, 64<<10); ; {
		n, err := d.Read(chunk)
		d.raw = append(d.raw, chunk[:n]...)
		if err != nil {
			return exitCode(d.t, d.cmd.Wait())
		}
	}
}

// TestShellWithClaude: a person works with the real Claude Code. It asks nothing
// first, Ctrl-C is its own, the bill is told, and a later session, with another
// phantom, goes on with the first one.
func TestShellWithClaude(t *testing.T) {
	for _, test := range []struct{ name, credential, header, value string }{
		{"subscription", realSetupToken, "Authorization", "Bearer " + realSetupToken},
		{"key", realAnthropicKey, "X-Api-Key", realAnthropicKey},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := modeltest.New(t, modeltest.Say("it is fortytwo").Uses(modeltest.Usage{Input: 100, Output: 20}).Forever())
			d := newDesk(t, "claude", test.credential)
			size := pty.Winsize{Rows: 40, Cols: 120}

			first := d.sit(size, "--upstream", server.URL, "--max-cost-usd", "5")
			first.until("bypass permissions on")
			_, _ = first.WriteString("\x03")
			first.until("Press Ctrl-C again to exit")
			first.say("what is the answer")
			first.until("it is fortytwo")
			first.untilMatch(turnEnd)
			d.awaitKept("it is fortytwo")
			first.say("/exit")
			if code := first.end(); code != 0 {
				t.Errorf("exit code %d\n%s", code, first.text())
			}
			checkScreen(t, first)
			for _, call := range server.Calls() {
				if call.Header.Get(test.header) != test.value {
					t.Errorf("a call came with %v", call.Header)
				}
			}

			second := d.sit(size, "--upstream", server.URL, "--", "--continue")
			second.until("what is the answer")
			second.until("it is fortytwo")
			second.until("bypass permissions on")
			_, _ = second.WriteString("\x04")
			second.until("Press Ctrl-D again to exit")
			_, _ = second.WriteString("\x04")
			if code := second.end(); code != 0 {
				t.Errorf("exit code %d\n%s", code, second.text())
			}
			d.checkNothingLeft()
		})
	}
}

func checkScreen(t *testing.T, d *display) {
	t.Helper()
	shown := d.text()
	if strings.Contains(shown, "REALTOKEN") {
		t.Error("the credential was shown")
	}
	if !regexp.MustCompile(`ralph:[1-9]\d*modelcalls,\d+tokens,\$0\.\d+spent,of\$5\.00`).MatchString(shown) {
		t.Errorf("no bill: %s", shown[max(0, len(shown)-500):])
	}
	if strings.Contains(shown, "refusedaconnection") {
		t.Errorf("the agent asks for other hosts by itself: %s", shown[max(0, len(shown)-500):])
	}
}

// checkNothingLeft: the project is as it was, no sandbox is left, and the sessions
// hold no credential.
func (d *desk) checkNothingLeft() {
	d.t.Helper()
	for _, pattern := range []string{filepath.Join(d.project, "*"), filepath.Join(d.project, ".*"), filepath.Join(d.state, "gvisor", "*"), filepath.Join(d.state, "workspaces", "*")} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			d.t.Errorf("left behind: %v", left)
		}
	}
	if out, err := exec.Command("grep", "-rla", "REALTOKE[N]", d.state).Output(); exitCode(d.t, err) != 1 {
		d.t.Errorf("the credential is kept in %s", out)
	}
}

// awaitKept waits until a text is in a session that is kept, where no project is:
// Claude Code writes it some time after it has shown it.
func (d *desk) awaitKept(text string) {
	d.t.Helper()
	deadline := time.After(time.Minute)
	for {
		out, err := exec.Command("grep", "-rl", "--include=*.jsonl", text, filepath.Join(d.state, "shells")).CombinedOutput()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			d.t.Fatalf("the session is not kept: %v %s", err, out)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TestShellWithoutATerminal: pipes and exit codes pass, real agents hold only a
// phantom, and sessions outlive the sandbox.
func TestShellWithoutATerminal(t *testing.T) {
	for _, test := range []struct {
		agent, credential string
		first, second     []string
	}{
		{"claude", realAnthropicKey, []string{"-p", "do it"}, []string{"--continue", "-p", "go on"}},
		{"codex", realOpenAIKey, []string{"exec", "do it"}, []string{"exec", "resume", "--last", "go on"}},
	} {
		t.Run(test.agent, func(t *testing.T) {
			server := modeltest.New(t, modeltest.Shell(searchForToken), modeltest.Say("the work is done"),
				modeltest.Say("there is no more"), modeltest.Refuse(403, modeltest.AnthropicError("permission_error", "no"), "X-Should-Retry", "false").Forever())
			d := newDesk(t, test.agent, test.credential)
			flags := []string{".", "--agent", test.agent, "--upstream", server.URL, "--"}
			out, errs := d.ask(0, append(flags, test.first...)...)
			if out != "the work is done\n" || !strings.Contains(errs, "ralph: 2 model calls, ") || strings.Contains(errs, "REALTOKEN") {
				t.Errorf("it says %q\n%s", out, errs)
			}
			calls := server.Calls()
			if last := string(calls[len(calls)-1].Body); !strings.Contains(last, "SEARCH-WAS-DONE-42") || strings.Contains(last, "LEAKED in ") {
				t.Errorf("the search found the credential, or was not made: %.3000s", last)
			}
			if out, errs = d.ask(0, append(flags, test.second...)...); out != "there is no more\n" {
				t.Errorf("it says %q\n%s", out, errs)
			}
			calls = server.Calls()
			if last := string(calls[len(calls)-1].Body); !strings.Contains(last, "the work is done") || !strings.Contains(last, "go on") {
				t.Errorf("the second session does not know the first: %.3000s", last)
			}
			d.ask(1, append(flags, test.first...)...)
			d.checkNothingLeft()
		})
	}
}

// TestShellTerminal: the terminal inside has the size of ours, also later, and the
// exit code passes.
func TestShellTerminal(t *testing.T) {
	d := bareDesk(t)
	const script = `stty size; test -t 1 && echo is-a-terminal $TERM; echo ready; while [ "$(stty size)" != "41 99" ]; do sleep 0.05; done; echo resized; exit 3`
	config := "[agent]\nname = \"command\"\ncommand = [\"sh\", \"-c\", \"" + strings.ReplaceAll(script, `"`, `\"`) + "\"]\n"
	if err := os.WriteFile(filepath.Join(d.project, "ralph.toml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	s := d.sit(pty.Winsize{Rows: 33, Cols: 77})
	s.until("33 77")
	s.until("is-a-terminal xterm-256color")
	s.until("ready")
	if err := pty.Setsize(s.File, &pty.Winsize{Rows: 41, Cols: 99}); err != nil {
		t.Fatal(err)
	}
	s.until("resized")
	if code := s.end(); code != 3 {
		t.Errorf("exit code %d, want 3\n%s", code, s.text())
	}
}
