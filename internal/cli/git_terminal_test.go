//go:build unix

package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// TestATerminalObeysNothingInADiff but our own colours, and none where the user wants
// none.
func TestATerminalObeysNothingInADiff(t *testing.T) {
	r := threeIterations(t)
	for _, test := range []struct {
		name    string
		env     map[string]string
		args    []string
		want    string
		escapes bool
	}{
		{"colour", map[string]string{"TERM": "xterm"}, []string{"diff"}, "\x1b[32m+a^[[2Jb^M\x1b[0m", true},
		{"no colour", map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, []string{"diff"}, "+a^[[2Jb^M", false},
		{"a dumb terminal", map[string]string{"TERM": "dumb"}, []string{"diff"}, "+a^[[2Jb^M", false},
		{"names", map[string]string{"TERM": "xterm"}, []string{"diff", "--name-only"}, "third", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, value := range test.env {
				r.env[name] = value
			}
			got := r.onTerminal(test.args...)
			if !strings.Contains(got, test.want) || strings.Contains(got, "\x1b") != test.escapes || strings.Contains(got, "\x1b[2J") {
				t.Errorf("got %q, want %q in it", got, test.want)
			}
		})
	}
}

// onTerminal runs a command whose output is a terminal, and returns what it got.
func (r *homeRig) onTerminal(args ...string) string {
	r.t.Helper()
	outside, inside, err := pty.Open()
	check(r.t, err)
	defer outside.Close()
	r.world.Out = inside
	defer func() { r.world.Out = &r.out }()
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(outside) // it ends with an error when the other end is gone
		read <- string(text)
	}()
	r.works(args...)
	check(r.t, inside.Close())
	return <-read
}
