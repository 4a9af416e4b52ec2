package notify

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestCommandGetsTheMessage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "got")
	m := message()
	m.Reason = "a\nb\x00\x1b[31m$(touch evil)\u202e"
	environ := append(helperEnv("record", file), "RALPH_RUN=of another")
	if err := Command([]string{os.Args[0], "an argument", "$HOME"}, environ).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	got := readRecorded(t, file)
	if want := []string{"an argument", "$HOME"}; strings.Join(got.Args, "|") != strings.Join(want, "|") {
		t.Errorf("arguments are %q, want %q", got.Args, want)
	}
	for name, want := range map[string]string{
		"RALPH_RUN": "20260102-030405-ab", "RALPH_STATUS": "needs-attention", "RALPH_REASON": "a b$(touch evil)",
		"RALPH_ITERATION": "7", "RALPH_COST_USD": "1.25",
	} {
		if got.Env[name] != want {
			t.Errorf("%s is %q, want %q", name, got.Env[name], want)
		}
	}
	var onStdin Message
	if err := json.Unmarshal([]byte(got.Stdin), &onStdin); err != nil || onStdin != m.clean() {
		t.Errorf("standard input is %s (%v)", got.Stdin, err)
	}
}

// A command gets the environment it is given and not that of ralph, which may
// hold tokens.
func TestCommandDoesNotInherit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "got")
	t.Setenv("SOME_TOKEN", "secret")
	environ := []string{helperVar + "=record", targetVar + "=" + file}
	if err := Command([]string{os.Args[0]}, environ).Send(t.Context(), message()); err != nil {
		t.Fatal(err)
	}
	if value, ok := readRecorded(t, file).Env["SOME_TOKEN"]; ok {
		t.Errorf("the command sees SOME_TOKEN=%s", value)
	}
}

func TestCommandMayIgnoreItsInput(t *testing.T) {
	if err := Command([]string{os.Args[0]}, helperEnv("deaf", "")).Send(t.Context(), message()); err != nil {
		t.Error(err)
	}
}

func TestCommandThatFails(t *testing.T) {
	err := Command([]string{os.Args[0], "--token=hush"}, helperEnv("fail", "")).Send(t.Context(), message())
	if err == nil {
		t.Fatal("no error")
	}
	text := err.Error()
	for _, want := range []string{filepath.Base(os.Args[0]), "exit status 3", "noise cannot reach the pager"} {
		if !strings.Contains(text, want) {
			t.Errorf("the error does not say %q: %s", want, text)
		}
	}
	for _, not := range []string{"the beginning", "\x1b", "\n", "hush"} {
		if strings.Contains(text, not) {
			t.Errorf("the error says %q", not)
		}
	}
	if len(text) > 5000 {
		t.Errorf("the error has %d bytes", len(text))
	}
}

func TestCommandThatCannotRun(t *testing.T) {
	for name, argv := range map[string][]string{
		"none": nil, "empty": {""}, "missing": {filepath.Join(t.TempDir(), "missing")},
	} {
		if err := Command(argv, nil).Send(t.Context(), message()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// When time is up, the command ends, and so does what it started: both ends of the
// connections that they hold are seen to close.
func TestCommandIsKilledWithItsChildren(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no process groups")
	}
	listener := listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- Command([]string{os.Args[0]}, helperEnv("hang", listener.Addr().String())).Send(ctx, message())
	}()
	parent, child := accept(t, listener), accept(t, listener)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
	for _, connection := range []net.Conn{parent, child} {
		if _, err := bufio.NewReader(connection).ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a process lives on: %v", err)
		}
	}
}

func TestCommandMayLeaveAChildBehind(t *testing.T) {
	t.Parallel()
	listener := listen(t)
	if err := Command([]string{os.Args[0]}, helperEnv("leave", listener.Addr().String())).Send(t.Context(), message()); err != nil {
		t.Error(err)
	}
	accept(t, listener) // the child is there, and ends when the test hangs up
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

func accept(t *testing.T, listener net.Listener) net.Conn {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	listener.(*net.TCPListener).SetDeadline(deadline)
	connection, err := listener.Accept()
	if err != nil {
		t.Fatalf("the helper did not come: %v", err)
	}
	connection.SetDeadline(deadline)
	t.Cleanup(func() { connection.Close() })
	return connection
}

func TestTailKeepsTheEnd(t *testing.T) {
	all := strings.Repeat("0123456789abcdef", 1000)
	for _, piece := range []int{1, 7, 4096, 5000, len(all)} {
		var kept tail
		for rest := all; rest != ""; {
			n, _ := kept.Write([]byte(rest[:min(piece, len(rest))]))
			rest = rest[n:]
		}
		if got, want := kept.String(), all[len(all)-4096:]; got != want {
			t.Errorf("pieces of %d: kept %d bytes, not the last 4096", piece, len(got))
		}
	}
}
