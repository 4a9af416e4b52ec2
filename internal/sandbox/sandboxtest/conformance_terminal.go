package sandboxtest

import (
	"io"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

func terminalChecks() []check {
	return []check{
		{"a command has one of its own only if it asks", checkTerminal},
		{"its size follows the caller's", checkResize},
		{"keys that interrupt do", checkInterruptKey},
	}
}

func checkTerminal(t *testing.T, s *suite) {
	if r := s.sh(t, "test -t 0 || test -t 1 || test -t 2"); r.code == 0 {
		t.Error("a command that did not ask has a terminal")
	}
	s.needs(t, s.info.Terminal, "terminals")
	cmd := shCommand("test -t 0 && test -t 1 && test -t 2 && stty size && echo words >&2; exit 7")
	cmd.Terminal = &sandbox.Terminal{Size: sandbox.TerminalSize{Rows: 33, Cols: 101}}
	r := s.box.run(t, cmd)
	if r.code != 7 || !strings.Contains(r.stdout, "33 101") || !strings.Contains(r.stdout, "words") || r.stderr != "" {
		t.Errorf("got %+v", r)
	}
}

func checkResize(t *testing.T, s *suite) {
	s.needs(t, s.info.Terminal, "terminals")
	sizes := make(chan sandbox.TerminalSize, 1)
	out := &signal{word: "ready", seen: make(chan struct{})}
	cmd := shCommand(`trap 'told=yes' WINCH; stty size; echo ready
while [ "$(stty size)" != "44 144" ] || [ -z "$told" ]; do sleep 0.05; done; echo resized`)
	cmd.Stdout = out
	cmd.Terminal = &sandbox.Terminal{Size: sandbox.TerminalSize{Rows: 24, Cols: 80}, Resize: sizes}
	go func() {
		<-out.seen
		sizes <- sandbox.TerminalSize{Rows: 44, Cols: 144}
	}()
	if code, err := s.Exec(patiently(t), cmd); code != 0 || err != nil {
		t.Fatalf("got %d, %v after %q", code, err, out.text())
	}
	if got := out.text(); !strings.Contains(got, "24 80") || !strings.Contains(got, "resized") {
		t.Errorf("got %q", got)
	}
}

// checkInterruptKey: Ctrl-C is a key while the program reads keys, and a signal to
// the foreground otherwise.
func checkInterruptKey(t *testing.T, s *suite) {
	s.needs(t, s.info.Terminal, "terminals")
	for _, test := range []struct{ name, script, want string }{
		{"a signal", `trap 'echo interrupted; exit 5' INT; echo ready; while :; do sleep 0.05; done`, "interrupted"},
		{"a key", `trap 'echo interrupted; exit 6' INT; stty raw -echo; echo ready; dd bs=1 count=1 2>/dev/null | od -An -tx1; exit 5`, "03"},
	} {
		t.Run(test.name, func(t *testing.T) {
			keys, typist := io.Pipe()
			defer typist.Close()
			out := &signal{word: "ready", seen: make(chan struct{})}
			cmd := shCommand(test.script)
			cmd.Stdin, cmd.Stdout = keys, out
			cmd.Terminal = &sandbox.Terminal{Size: sandbox.TerminalSize{Rows: 24, Cols: 80}}
			go func() {
				<-out.seen
				_, _ = typist.Write([]byte{3})
			}()
			if code, err := s.Exec(patiently(t), cmd); code != 5 || err != nil || !strings.Contains(out.text(), test.want) {
				t.Errorf("got %d, %v after %q", code, err, out.text())
			}
		})
	}
}
