package task

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadProgress(t *testing.T) {
	var entries strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&entries, "### Iteration %d\ndid things\n", i)
	}
	const head = "# Progress\n\n## Codebase Patterns\n- use tabs\n\n---\n"
	for _, tt := range []struct {
		name, content string
		limit         int
		want          string // a prefix...
		end           string // ...and a suffix
	}{
		{"short", "one\ntwo\n", 100, "one\ntwo\n", "two\n"},
		{"tail from a line's start", "first line\nsecond\nthird\n", 15, "second\nthird\n", "third\n"},
		{"patterns are kept", head + entries.String(), 400, "## Codebase Patterns\n- use tabs\n\n", "### Iteration 999\ndid things\n"},
		{"patterns at the very top", head[12:] + entries.String(), 400, "## Codebase Patterns\n- use tabs\n\n", "did things\n"},
		{"one endless line", strings.Repeat("x", 1000), 100, "xxx", "xxx"},
		{"control characters", "a\x1b]0;x\x07b\xffc", 100, "a]0;xb?c", "c"},
		{"no room", "text", 0, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, root := workspace(t)
			if err := os.WriteFile(filepath.Join(dir, ProgressFile), []byte(tt.content), 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := ReadProgress(root, ProgressFile, tt.limit)
			if err != nil || !strings.HasPrefix(got, tt.want) || !strings.HasSuffix(got, tt.end) || len(got) > tt.limit {
				t.Errorf("ReadProgress = %q (%d bytes), %v", got, len(got), err)
			}
		})
	}
}

func TestNoProgressYet(t *testing.T) {
	dir, root := workspace(t)
	if got, err := ReadProgress(root, ProgressFile, 100); got != "" || err != nil {
		t.Errorf("ReadProgress = %q, %v", got, err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, ProgressFile)); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if got, err := ReadProgress(root, ProgressFile, 100); got != "" || err == nil {
		t.Errorf("through a link: %q, %v", got, err)
	}
}

// A file of many gigabytes is read at its end alone.
func TestProgressWithoutBound(t *testing.T) {
	dir, root := workspace(t)
	f, err := os.Create(filepath.Join(dir, ProgressFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 36); err != nil {
		t.Skip("no sparse files here:", err)
	}
	if _, err := f.WriteAt([]byte("\nlast\n"), 1<<36); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadProgress(root, ProgressFile, 100); got != "last\n" || err != nil {
		t.Errorf("ReadProgress = %q, %v", got, err)
	}
}
