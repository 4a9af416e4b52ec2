package wholefile_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-loop/ralph/internal/wholefile"
)

// Whatever stands there, or where the draft is written, makes room; nothing is
// written through a link, and nothing else is left.
func TestReplace(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	for name, prepare := range map[string]func(dir string) error{
		"nothing": func(string) error { return nil },
		"a file": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "it"), []byte("a longer old one"), 0o600)
		},
		"a folder":          func(dir string) error { return os.MkdirAll(filepath.Join(dir, "it", "full", "of"), 0o700) },
		"a link":            func(dir string) error { return os.Symlink(outside, filepath.Join(dir, "it")) },
		"a link as draft":   func(dir string) error { return os.Symlink(outside, filepath.Join(dir, "it.ralph-new")) },
		"a folder as draft": func(dir string) error { return os.MkdirAll(filepath.Join(dir, "it.ralph-new", "full"), 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(outside, []byte("kept"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := prepare(dir); err != nil {
				t.Fatal(err)
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			if err := wholefile.Replace(root, "it", []byte("new"), 0o640); err != nil {
				t.Fatal(err)
			}
			info, err := root.Lstat("it")
			if err != nil || !info.Mode().IsRegular() || info.Size() != 3 {
				t.Errorf("%v, %v", info, err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("left: %v, %v", left, err)
			}
			if kept, err := os.ReadFile(outside); string(kept) != "kept" {
				t.Errorf("outside is %q, %v", kept, err)
			}
		})
	}
}

// A file that cannot be written leaves the old one, and no draft.
func TestReplaceFails(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := wholefile.Replace(root, "no-such-folder/it", []byte("new"), 0o600); err == nil {
		t.Error("it was written nowhere")
	}
	if err := wholefile.Replace(root, "../it", []byte("new"), 0o600); err == nil {
		t.Error("it was written outside")
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
