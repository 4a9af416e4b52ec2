package cli

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// TestReport: what was joined is said line by line, what has words of its own is said
// with them, and a hint is given once.
func TestReport(t *testing.T) {
	away := &sandbox.UnavailableError{Engine: "docker", Reason: "it is asleep", Fix: "wake it"}
	for name, tt := range map[string]struct {
		err  error
		said string
		code int
	}{
		"joined": {
			errors.Join(commandExit(3), errors.New("cleaning up: one"), errors.New("two")),
			"ralph: cleaning up: one\nralph: two\n", 3,
		},
		"its own words": {
			fmt.Errorf("%w: %w", sandbox.ErrGone, errors.New("somebody removed it")),
			"ralph: the sandbox is gone: somebody removed it\n", 1,
		},
		"a hint twice": {
			fmt.Errorf("%w: %w; ending it: %w", sandbox.ErrGone, away, away),
			"ralph: the sandbox is gone: engine docker cannot run here: it is asleep; ending it: engine docker cannot run here: it is asleep\nralph: hint: wake it\n", 5,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			if code := report(&said, tt.err); code != tt.code || said.String() != tt.said {
				t.Errorf("exit %d, want %d; said\n%swant\n%s", code, tt.code, &said, tt.said)
			}
		})
	}
}
