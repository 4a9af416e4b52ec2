package sandbox_test

import (
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

func TestErrorTexts(t *testing.T) {
	for _, tt := range []struct {
		err  error
		text string
		hint string
	}{
		{sandbox.ErrGone, "the sandbox is gone", ""},
		{&sandbox.UnavailableError{Engine: "gvisor", Reason: "no room", Fix: "make room"}, "engine gvisor cannot run here: no room", "make room"},
		{&sandbox.RefusedError{What: `mount of "/"`, Why: "that is all", Fix: "give less"}, `mount of "/" refused: that is all`, "give less"},
		{&sandbox.LimitError{Limit: "memory", Value: "64 MiB"}, "the sandbox was ended: it reached its memory limit of 64 MiB", ""},
		{&sandbox.StartError{Program: "foo", Code: 127, Reason: "not found"}, "starting foo: not found", ""},
	} {
		if got := tt.err.Error(); got != tt.text {
			t.Errorf("got %q, want %q", got, tt.text)
		}
		hinter, _ := tt.err.(interface{ Hint() string })
		switch {
		case hinter == nil && tt.hint != "":
			t.Errorf("%v has no hint", tt.err)
		case hinter != nil && hinter.Hint() != tt.hint:
			t.Errorf("hint %q, want %q", hinter.Hint(), tt.hint)
		}
	}
}
