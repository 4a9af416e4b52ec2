package sandbox_test

import (
	"slices"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

func TestFoldersAbove(t *testing.T) {
	for path, want := range map[string][]string{
		"a":         nil,
		"a/b":       {"a"},
		"a/b/c/d":   {"a", "a/b", "a/b/c"},
		".git":      nil,
		"sub/.git":  {"sub"},
		"a//b/./c/": {"a", "a/b", "a/b/c"}, // a slash at the end names what is in it
	} {
		if got := sandbox.FoldersAbove(path); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}
