//go:build unix

package budget

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestFilesOfOthersAreRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		plant func(path, elsewhere string) error
		want  string
	}{
		{"link to a ledger", func(path, elsewhere string) error { return os.Symlink(elsewhere, path) }, "regular file"},
		{"link to nothing", func(path, elsewhere string) error { return os.Symlink(elsewhere+".new", path) }, "regular file"},
		{"hard link", func(path, elsewhere string) error { return os.Link(elsewhere, path) }, "hard link"},
		{"read-only", func(path, _ string) error { return os.WriteFile(path, nil, 0o400) }, ""},
		{"writable by others", func(path, _ string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o666))
		}, "chmod 600"},
		{"directory", func(path, _ string) error { return os.Mkdir(path, 0o700) }, "regular file"},
		{"pipe", func(path, _ string) error { return syscall.Mkfifo(path, 0o600) }, "regular file"},
		{"another user's", func(path, _ string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Chown(path, 12345, 12345))
		}, "user 12345"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "another user's" && os.Geteuid() != 0 {
				t.Skip("only root can give files away")
			}
			elsewhere := filepath.Join(t.TempDir(), "elsewhere")
			must(t, opened(t, elsewhere, Caps{}).Close())
			path := newPath(t)
			must(t, c.plant(path, elsewhere))
			if _, err := Open(path, Caps{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("opened: %v, want an error with %q", err, c.want)
			}
			if _, err := os.Lstat(elsewhere + ".new"); err == nil {
				t.Error("a file was made through the link")
			}
		})
	}
}

func TestANewLedgerIsPrivate(t *testing.T) {
	path := newPath(t)
	l := opened(t, path, Caps{})
	reserved(t, l, cents(1))
	files, err := filepath.Glob(path + "*")
	must(t, err)
	if len(files) != 2 {
		t.Errorf("files %v, want the ledger and its owner's", files)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v %v", file, info.Mode(), err)
		}
	}
}

// TestALockLeftWithoutHoldsIsSwept is the trace of a process that was killed
// between two calls.
func TestALockLeftWithoutHoldsIsSwept(t *testing.T) {
	path := newPath(t)
	l := opened(t, path, Caps{})
	left := path + ownerMark + newOwnerID()
	must(t, os.WriteFile(left, nil, 0o600))
	totals(t, l)
	if _, err := os.Lstat(left); err == nil {
		t.Error("the file of a dead owner is still there")
	}
}
