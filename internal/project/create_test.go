package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func openRoot(t testing.TB, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

func names(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestCreate(t *testing.T) {
	dir := t.TempDir()
	files := []File{{"a", []byte("A")}, {"b", []byte("B")}}
	if err := Create(openRoot(t, dir), files); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the folder holds %q", got)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "b")); string(data) != "B" || err != nil {
		t.Errorf("b = %q, %v", data, err)
	}
}

func TestCreateIsAllOrNothing(t *testing.T) {
	for _, tt := range []struct {
		name string
		put  func(path string) error
	}{
		{"a file", func(path string) error { return os.WriteFile(path, []byte("old"), 0o644) }},
		{"a folder", func(path string) error { return os.Mkdir(path, 0o755) }},
		{"a link that leads nowhere", func(path string) error { return os.Symlink("nowhere", path) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := tt.put(filepath.Join(dir, "b")); err != nil {
				t.Skip(err)
			}
			err := Create(openRoot(t, dir), []File{{"a", []byte("A")}, {"b", []byte("B")}, {"c", []byte("C")}})
			if !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "creating b") {
				t.Errorf("Create: %v", err)
			}
			if got := names(t, dir); !slices.Equal(got, []string{"b"}) {
				t.Errorf("the folder holds %q", got)
			}
			if data, err := os.ReadFile(filepath.Join(dir, "b")); err == nil && string(data) != "old" {
				t.Errorf("b was changed to %q", data)
			}
		})
	}
}

// A name that cannot be written at all leaves nothing of the others either.
func TestCreateOutsideIsRefused(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "inner")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Create(openRoot(t, inner), []File{{"a", nil}, {"../b", nil}}); err == nil {
		t.Error("no error")
	}
	if got := names(t, inner); len(got) > 0 || len(names(t, dir)) != 1 {
		t.Errorf("left: %q", got)
	}
}
