//go:build linux

package cli_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// screen is ralph in a terminal.
type screen struct {
	*os.File
	cmd  *exec.Cmd
	seen bytes.Buffer
}

func (b *bank) terminal(t *testing.T, args ...string) *screen {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), ralphBinary, args...)
	cmd.Dir, cmd.Env = b.project, b.env
	file, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return &screen{File: file, cmd: cmd}
}

// until reads what is shown up to some text.
func (s *screen) until(t *testing.T, text string) {
	t.Helper()
	for one := make([]byte, 1); !bytes.Contains(s.seen.Bytes(), []byte(text)); {
		if _, err := s.Read(one); err != nil {
			t.Fatalf("the screen ends without %q: %s", text, &s.seen)
		}
		s.seen.Write(one)
	}
}

// end waits for ralph and returns its exit code. The screen showed no secret.
func (s *screen) end(t *testing.T) int {
	t.Helper()
	_, _ = io.Copy(&s.seen, s.File) // ends with an error when the other side closes
	code := exitCode(t, s.cmd.Wait())
	if s.cmd.Args[1] != "get-token" && strings.Contains(s.seen.String(), "not-real") {
		t.Errorf("the screen shows a secret: %s", &s.seen)
	}
	return code
}

// claude puts a program of that name before all others.
func (b *bank) claude(t *testing.T, script string) {
	t.Helper()
	dir := filepath.Join(b.home, "bin")
	_ = os.Mkdir(dir, 0o700)
	if err := os.WriteFile(filepath.Join(dir, "claude"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	b.env = append(b.env, "PATH="+dir+":"+os.Getenv("PATH"))
}

// setupScript is "claude setup-token" as a user meets it: in a terminal, in
// colour, asking for a code.
const setupScript = `
test -t 0 && test -t 1 || { echo no terminal; exit 1; }
test "$*" = setup-token || { echo "asked for $*"; exit 1; }
test -z "$(ls -A)" || { echo "not an empty folder: $(pwd)"; exit 1; }
set -- $(stty size)
test "$2" -ge 200 || { echo "only $2 columns"; exit 1; }
printf 'Paste code here: '
read code
printf '\033[32mYour token:\033[0m\n\n\033[33m` + goodToken + `\033[39m\n\nStore it.\n'
test "$code" = the-code
`

func TestStoreTokenInATerminal(t *testing.T) {
	b := newBank(t)
	b.claude(t, setupScript)
	s := b.terminal(t, "store-token", "--upstream", b.URL)
	s.until(t, "Paste code here: ")
	_, _ = s.WriteString("the-code\r")
	if code := s.end(t); code != 0 || !strings.Contains(s.seen.String(), "stored the Claude set-up token ") {
		t.Errorf("exit code %d: %s", code, &s.seen)
	}
	if !strings.Contains(s.seen.String(), "sk-ant-***") {
		t.Errorf("the screen does not show that a token came: %s", &s.seen)
	}
	b.holds(t, goodToken)
}

// Whatever goes wrong in the set-up, the old token stays.
func TestStoreTokenInATerminalFails(t *testing.T) {
	for _, test := range []struct{ name, script, want string }{
		{"the code is wrong", "echo " + badToken + "; exit 3", "ralph: running claude setup-token: exit status 3"},
		{"no token", "echo Login cancelled", "ralph: claude setup-token printed no token"},
		{"a token that is rejected", "echo " + badToken, "ralph: the credential is not valid and was not stored"},
		{"a child holds the terminal", "trap '' HUP; sleep 5 & exit 4", "exit status 4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBank(t)
			b.run(t, goodToken, "store-token", "--upstream", b.URL).want(t, 0)
			b.claude(t, test.script)
			s := b.terminal(t, "store-token", "--upstream", b.URL)
			if code := s.end(t); code != 1 || !strings.Contains(s.seen.String(), test.want) {
				t.Errorf("exit code %d: %s", code, &s.seen)
			}
			b.holds(t, goodToken)
		})
	}
}

func TestStoreTokenWithoutClaude(t *testing.T) {
	b := newBank(t)
	b.env = append(b.env, "PATH="+b.home)
	s := b.terminal(t, "store-token")
	if code := s.end(t); code != 1 || !strings.Contains(s.seen.String(), "ralph: claude is not installed") || !strings.Contains(s.seen.String(), "ralph: hint: install Claude Code") {
		t.Errorf("exit code %d: %s", code, &s.seen)
	}
}

// A program of that name in the project is not the user's, whatever PATH says.
func TestStoreTokenRunsNothingOfTheProject(t *testing.T) {
	for _, path := range []string{".", "", "node_modules/.bin", "./node_modules/../"} {
		b := newBank(t)
		bin := filepath.Join(b.project, "node_modules", ".bin")
		if err := os.MkdirAll(bin, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{b.project, bin} {
			if err := os.WriteFile(filepath.Join(dir, "claude"), []byte("#!/bin/sh\ntouch "+b.home+"/was-run\necho "+goodToken), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		b.env = append(b.env, "PATH="+path+":"+b.home)
		s := b.terminal(t, "store-token", "--no-check")
		if code := s.end(t); code != 1 {
			t.Errorf("PATH %q: exit code %d: %s", path, code, &s.seen)
		}
		if _, err := os.Stat(filepath.Join(b.home, "was-run")); err == nil {
			t.Errorf("PATH %q: it was run", path)
		}
	}
}

// A key is asked for without being shown as it is typed.
func TestStoreTokenPrompts(t *testing.T) {
	const key = "sk-proj-not-real-0123456789012345"
	b := newBank(t)
	b.accepts(key)
	s := b.terminal(t, "store-token", "--agent", "codex", "--upstream", b.URL)
	s.until(t, "paste the credential for codex (it is not shown): ")
	_, _ = s.WriteString(key + "\r")
	if code := s.end(t); code != 0 || !strings.Contains(s.seen.String(), "stored the OpenAI API key ") {
		t.Errorf("exit code %d: %s", code, &s.seen)
	}
	if got := b.run(t, "", "get-token", "--agent", "codex"); got.out != key+"\n" {
		t.Errorf("stored %q", got.out)
	}
}

// Ctrl-C at the prompt ends ralph, and the terminal shows what is typed again.
func TestPromptInterrupted(t *testing.T) {
	b := newBank(t)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `"$0" store-token --agent codex; echo "code $?"; stty -a | tr ' ' '\n' | grep '^-*echo;*$'`, ralphBinary)
	cmd.Dir, cmd.Env = b.project, b.env
	file, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := &screen{File: file, cmd: cmd}
	s.until(t, "(it is not shown): ")
	_, _ = s.WriteString("\x03")
	s.end(t)
	if shown := s.seen.String(); !strings.Contains(shown, "code 130") || !strings.Contains(shown, "\necho") {
		t.Errorf("the screen shows %s", shown)
	}
}

// ensure-token gets a token where there is none, and leaves a good one alone.
func TestEnsureTokenInATerminal(t *testing.T) {
	b := newBank(t)
	b.claude(t, "echo "+goodToken)
	s := b.terminal(t, "ensure-token", "--upstream", b.URL)
	if code := s.end(t); code != 0 || !strings.Contains(s.seen.String(), "none is stored") || !strings.Contains(s.seen.String(), "stored the Claude set-up token ") {
		t.Errorf("exit code %d: %s", code, &s.seen)
	}
	b.holds(t, goodToken)
	b.claude(t, "echo it was run again")
	s = b.terminal(t, "ensure-token", "--upstream", b.URL)
	if code := s.end(t); code != 0 || strings.Contains(s.seen.String(), "again") {
		t.Errorf("exit code %d: %s", code, &s.seen)
	}
	// A provider that cannot be asked is no reason to get another.
	s = b.terminal(t, "ensure-token", "--upstream", "http://127.0.0.1:1")
	if code := s.end(t); code != 1 || strings.Contains(s.seen.String(), "again") {
		t.Errorf("exit code %d: %s", code, &s.seen)
	}
}

func TestGetTokenWarnsInATerminal(t *testing.T) {
	b := newBank(t)
	b.run(t, goodToken, "store-token", "--no-check").want(t, 0)
	s := b.terminal(t, "get-token")
	if code := s.end(t); code != 0 || !strings.Contains(s.seen.String(), "ralph: warning: this is a secret") || !strings.Contains(s.seen.String(), goodToken) {
		t.Errorf("exit code %d: %s", code, &s.seen)
	}
}
