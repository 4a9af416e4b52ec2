package sandboxtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

func streamChecks() []check {
	return []check{
		{"output and errors are kept apart", checkApart},
		{"bytes pass unchanged", checkBytes},
		{"20 MB of output arrive whole and in order", checkLargeOutput},
		{"output nobody wants is discarded", checkDiscard},
		{"output arrives while the command runs", checkLive},
		{"5 MB of input arrive whole, then the end", checkInput},
		{"no input is an empty input", checkNoInput},
		{"input that is not read does not hold it up", checkUnreadInput},
		{"input without end is read as far as needed", checkEndlessInput},
	}
}

func checkApart(t *testing.T, s *suite) {
	r := s.sh(t, "echo one; echo two >&2; echo three; echo four >&2")
	if r.stdout != "one\nthree\n" || r.stderr != "two\nfour\n" {
		t.Errorf("got %+v", r)
	}
}

func checkBytes(t *testing.T, s *suite) {
	for script, want := range map[string]string{
		`printf '\000\001\177\200\377\r\n\n\000'`: "\x00\x01\x7f\x80\xff\r\n\n\x00",
		"printf 'no newline'":                     "no newline",
		`printf '\n'`:                             "\n",
		"true":                                    "",
	} {
		if got := s.out(t, script); got != want {
			t.Errorf("%s gave %q, want %q", script, got, want)
		}
		if r := s.sh(t, "{ "+script+"; } >&2"); r.stderr != want {
			t.Errorf("%s to stderr gave %q, want %q", script, r.stderr, want)
		}
	}
}

func checkLargeOutput(t *testing.T, s *suite) {
	const first, last = 1_000_000_000_000_000, 1_000_000_001_200_000 // 17 bytes a line
	var want []byte
	for i := int64(first); i <= last; i++ {
		want = append(strconv.AppendInt(want, i, 10), '\n')
	}
	r := s.box.run(t, sandbox.Command{Args: []string{"seq", fmt.Sprint(int64(first)), fmt.Sprint(int64(last))}})
	if r.code != 0 || len(r.stdout) != len(want) {
		t.Fatalf("seq gave %d and %d bytes, want %d", r.code, len(r.stdout), len(want))
	}
	if r.stdout != string(want) {
		t.Error("the bytes are as many as sent, but not the same")
	}
}

func checkDiscard(t *testing.T, s *suite) {
	cmd := shCommand("seq 1 100000; seq 1 100000 >&2; exit 5")
	if code, err := s.Exec(patiently(t), cmd); code != 5 || err != nil {
		t.Errorf("got %d, %v", code, err)
	}
}

func checkLive(t *testing.T, s *suite) {
	stdin, answer := io.Pipe()
	defer stdin.Close()
	out := &signal{word: "ready", seen: make(chan struct{})}
	cmd := shCommand(`echo ready; read word; echo "got $word"`)
	cmd.Stdin, cmd.Stdout = stdin, out
	go func() {
		<-out.seen // the script waits for the word, so this is before it ends
		_, _ = io.WriteString(answer, "word\n")
	}()
	if code, err := s.Exec(patiently(t), cmd); code != 0 || err != nil {
		t.Fatalf("got %d, %v after %q", code, err, out.text())
	}
	if got := out.text(); got != "ready\ngot word\n" {
		t.Errorf("got %q", got)
	}
}

func checkInput(t *testing.T, s *suite) {
	input := make([]byte, 5<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(input) // never fails
	r := s.box.run(t, sandbox.Command{Args: []string{"cat"}, Stdin: bytes.NewReader(input)})
	if r.code != 0 || r.stdout != string(input) {
		t.Errorf("cat gave %d and %d bytes that are equal: %t", r.code, len(r.stdout), r.stdout == string(input))
	}
}

func checkNoInput(t *testing.T, s *suite) {
	r := s.box.run(t, sandbox.Command{Args: []string{"wc", "-c"}})
	if r.code != 0 || strings.TrimSpace(r.stdout) != "0" {
		t.Errorf("got %+v", r)
	}
}

func checkUnreadInput(t *testing.T, s *suite) {
	silent, writer := io.Pipe()
	defer writer.Close()
	for name, stdin := range map[string]io.Reader{
		"silent": silent,
		"large":  bytes.NewReader(make([]byte, 5<<20)),
	} {
		begun := time.Now()
		cmd := shCommand("echo done")
		cmd.Stdin = stdin
		if r := s.box.run(t, cmd); r.stdout != "done\n" {
			t.Errorf("%s input: got %+v", name, r)
		}
		if took := time.Since(begun); took > prompt {
			t.Errorf("%s input: it took %v", name, took)
		}
	}
}

// endless never ends until it is closed, so that the suite leaves nobody
// reading it.
type endless struct{ closed chan struct{} }

func (e endless) Read(p []byte) (int, error) {
	select {
	case <-e.closed:
		return 0, errors.New("nobody should read on")
	default:
		return copy(p, "yes\n"), nil
	}
}

func checkEndlessInput(t *testing.T, s *suite) {
	input := endless{make(chan struct{})}
	defer close(input.closed)
	r := s.box.run(t, sandbox.Command{Args: []string{"head", "-c", "7"}, Stdin: input})
	if r.code != 0 || r.stdout != "yes\nyes" {
		t.Errorf("got %+v", r)
	}
}
