//go:build linux

package gvisor

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

const mebibyte = 1 << 20

// bigFile writes a file of a mebibyte that does not compress, and leaves it open.
func bigFile(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	block := make([]byte, mebibyte)
	for i := range block {
		block[i] = byte(i * i >> 3)
	}
	_, err = f.Write(block)
	if err := errors.Join(err, f.Sync()); err != nil {
		t.Fatal(err)
	}
	return f
}

// changeTime is when the kernel last saw a file change.
func changeTime(t *testing.T, path string) time.Time {
	t.Helper()
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		t.Fatal(err)
	}
	return time.Unix(s.Ctim.Unix())
}

func TestChangedFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	bigFile(t, outside)
	old := filepath.Join(dir, "old")
	bigFile(t, old)
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	fresh := filepath.Join(dir, "sub", "fresh")
	for bigFile(t, fresh); !changeTime(t, fresh).After(changeTime(t, old)); bigFile(t, fresh) {
		// the kernel's clock for files ticks slowly
	}
	for name, tt := range map[string]struct {
		since time.Time
		files int64
	}{
		"everything": {time.Unix(0, 0), 2},
		"the newest": {changeTime(t, fresh), 1},
		"nothing":    {time.Now().Add(time.Hour), 0},
	} {
		got := changedFiles(t.Context(), dir, tt.since)
		if got < tt.files*mebibyte || got > tt.files*mebibyte+mebibyte/2 {
			t.Errorf("%s: %d bytes, want those of %d files", name, got, tt.files)
		}
	}
	if got := changedFiles(t.Context(), filepath.Join(dir, "missing"), time.Unix(0, 0)); got != 0 {
		t.Errorf("a folder that is not there takes %d bytes", got)
	}
}

func TestUnlinkedFiles(t *testing.T) {
	dir := t.TempDir()
	var system unix.Statfs_t
	if err := unix.Statfs(dir, &system); err != nil {
		t.Fatal(err)
	}
	if system.Type == unix.TMPFS_MAGIC {
		t.Skip("temporary files are in memory")
	}
	before := unlinkedFiles(os.Getpid())
	path := filepath.Join(dir, "file")
	f := bigFile(t, path)
	if got := unlinkedFiles(os.Getpid()); got != before {
		t.Errorf("a file with a name counts %d", got-before)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := unlinkedFiles(os.Getpid()) - before; got < mebibyte || got > mebibyte+mebibyte/2 {
		t.Errorf("a file without a name counts %d", got)
	}
	f.Close()
	if got := unlinkedFiles(os.Getpid()); got != before {
		t.Errorf("a closed file counts %d", got-before)
	}
}

func TestUnlinkedFilesInMemoryDoNotCount(t *testing.T) {
	before := unlinkedFiles(os.Getpid())
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	f := os.NewFile(uintptr(fd), "memory")
	defer f.Close()
	if _, err := f.Write(bytes.Repeat([]byte("x"), mebibyte)); err != nil {
		t.Fatal(err)
	}
	if got := unlinkedFiles(os.Getpid()); got != before {
		t.Errorf("a file in memory counts %d", got-before)
	}
}

func TestCheckStatic(t *testing.T) {
	static, remove, err := sandboxtest.Build("./testdata/guest")
	if err != nil {
		t.Skip(err) // another user may have no Go
	}
	defer remove()
	if err := checkStatic(static); err != nil {
		t.Errorf("a static program: %v", err)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{text, text + ".missing"} {
		if err := checkStatic(path); err == nil {
			t.Errorf("%s passed for a static program", path)
		}
	}
}

func TestCheckStaticRefusesDynamic(t *testing.T) {
	var unavailable *sandbox.UnavailableError
	if err := checkStatic("/bin/sh"); !errors.As(err, &unavailable) || unavailable.Hint() == "" {
		t.Errorf("got %v", err)
	}
}

func TestReadableBinary(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "program")
	for mode, copied := range map[os.FileMode]bool{0o755: false, 0o775: false, 0o700: true, 0o750: true, 0o711: true} {
		if err := errors.Join(os.WriteFile(path, []byte("code"), 0o700), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		want := path
		if copied {
			want = filepath.Join(state, "ralph")
		}
		got, err := readableBinary(path, state)
		if err != nil || got != want {
			t.Errorf("%v: got %s, %v; want %s", mode, got, err, want)
		}
		if data, err := os.ReadFile(got); err != nil || string(data) != "code" || stat(t, got).Mode().Perm()&0o005 != 0o005 {
			t.Errorf("%v: the copy holds %q, %v", mode, data, err)
		}
	}
	if _, err := readableBinary(path+".missing", state); err == nil {
		t.Error("a program that is not there was found")
	}
}
