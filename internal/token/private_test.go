//go:build unix

package token

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestFilesArePrivate(t *testing.T) {
	s := fileStore(t)
	save(t, s, newProvider(t).login(time.Hour))
	for path, want := range map[string]os.FileMode{s.files.dir: 0o700, s.files.where("claude"): 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
	}
}

// Whatever is wrong with the file or its folder, it is not read.
func TestFilesOfOthersAreRefused(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(dir, file string) error
		want  string
	}{
		{"others can read it", func(_, file string) error { return os.Chmod(file, 0o644) }, "open to other users"},
		{"the group can read it", func(_, file string) error { return os.Chmod(file, 0o640) }, "open to other users"},
		{"others can enter the folder", func(dir, _ string) error { return os.Chmod(dir, 0o755) }, "open to other users"},
		{"it belongs to another", func(_, file string) error { return os.Chown(file, 12345, 12345) }, "belongs to another user"},
		{"the folder does", func(dir, _ string) error { return os.Chown(dir, 12345, 12345) }, "belongs to another user"},
		{"it is a link", func(dir, file string) error {
			if err := os.Rename(file, filepath.Join(dir, "other")); err != nil {
				return err
			}
			return os.Symlink("other", file)
		}, "not a regular file"},
		{"the folder is a link", func(dir, _ string) error {
			if err := os.Rename(dir, dir+"2"); err != nil {
				return err
			}
			return os.Symlink(dir+"2", dir)
		}, "not a folder"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := fileStore(t)
			save(t, s, newProvider(t).login(time.Hour))
			if err := test.spoil(s.files.dir, s.files.where("claude")); os.IsPermission(err) {
				t.Skip("needs root: ", err)
			} else if err != nil {
				t.Fatal(err)
			}
			_, _, err := s.Load(t.Context(), "claude")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}
