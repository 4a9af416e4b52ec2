//go:build unix

package lockfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/fstest"
)

func TestOwned(t *testing.T) {
	for _, test := range []struct {
		name      string
		mode      fs.FileMode
		forbidden fs.FileMode
		want      error
	}{
		{"private", 0o600, 0o077, nil},
		{"others may read, and that is not forbidden", 0o644, 0o022, nil},
		{"others may read", 0o604, 0o077, ErrOpen},
		{"the group may read", 0o640, 0o077, ErrOpen},
		{"the group may write", 0o620, 0o022, ErrOpen},
		{"not even the owner may write", 0o400, 0o077, nil},
		{"the owner may run it", 0o700, 0o177, ErrOpen},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, path := range []string{newFile(t), t.TempDir()} {
				must(t, os.Chmod(path, test.mode))
				if err := Owned(stat(t, path), test.forbidden); !errors.Is(err, test.want) {
					t.Errorf("%s: %v, want %v", path, err, test.want)
				}
			}
		})
	}
}

func TestOwnedByAnother(t *testing.T) {
	path := newFile(t)
	if err := os.Chown(path, 12345, 12345); os.IsPermission(err) {
		t.Skip("only root can give files away")
	} else if err != nil {
		t.Fatal(err)
	}
	if err := Owned(stat(t, path), 0); !errors.Is(err, ErrForeign) {
		t.Errorf("%v, want %v", err, ErrForeign)
	}
}

// An info without an owner, as of a file in an archive, is nobody's.
func TestOwnerIsNotKnown(t *testing.T) {
	info, err := fs.Stat(fstest.MapFS{"file": {Mode: 0o600}}, "file")
	must(t, err)
	if err := Owned(info, 0o077); !errors.Is(err, ErrForeign) {
		t.Errorf("%v, want %v", err, ErrForeign)
	}
	if err := OneName(info); !errors.Is(err, ErrLinked) {
		t.Errorf("%v, want %v", err, ErrLinked)
	}
}

func TestOneName(t *testing.T) {
	path := newFile(t)
	must(t, OneName(stat(t, path)))
	must(t, os.Link(path, path+"2"))
	if err := OneName(stat(t, path)); !errors.Is(err, ErrLinked) {
		t.Errorf("%v, want %v", err, ErrLinked)
	}
	must(t, os.Remove(path+"2"))
	must(t, OneName(stat(t, path)))

	folder := filepath.Dir(path)
	must(t, os.Mkdir(filepath.Join(folder, "below"), 0o700)) // its .. is a name of folder
	if n := stat(t, folder).Sys().(*syscall.Stat_t).Nlink; n > 1 {
		must(t, OneName(stat(t, folder)))
	}
}

func stat(t *testing.T, path string) fs.FileInfo {
	t.Helper()
	info, err := os.Lstat(path)
	must(t, err)
	return info
}
