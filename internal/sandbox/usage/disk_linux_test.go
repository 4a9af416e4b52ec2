package usage

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/sandbox"
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
	before := Unlinked(os.Getpid())
	path := filepath.Join(dir, "file")
	f := bigFile(t, path)
	if got := Unlinked(os.Getpid()); got != before {
		t.Errorf("a file with a name counts %d", got-before)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := Unlinked(os.Getpid()) - before; got < mebibyte || got > mebibyte+mebibyte/2 {
		t.Errorf("a file without a name counts %d", got)
	}
	f.Close()
	if got := Unlinked(os.Getpid()); got != before {
		t.Errorf("a closed file counts %d", got-before)
	}
}

func TestUnlinkedFilesInMemoryDoNotCount(t *testing.T) {
	before := Unlinked(os.Getpid())
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
	if err != nil {
		t.Skip(err)
	}
	f := os.NewFile(uintptr(fd), "memory")
	defer f.Close()
	if _, err := f.Write(bytes.Repeat([]byte("x"), mebibyte)); err != nil {
		t.Fatal(err)
	}
	if got := Unlinked(os.Getpid()); got != before {
		t.Errorf("a file in memory counts %d", got-before)
	}
}

// Taken looks for files only when the file system has lost more than the limit.
func TestTaken(t *testing.T) {
	dir := t.TempDir()
	mounts := []sandbox.Mount{{Source: dir, Target: "/w"}, {Source: "/", Target: "/mnt", ReadOnly: true}}
	unnamed := func() int64 { return 5 * mebibyte }
	for name, tt := range map[string]struct {
		lost    freeSpace
		unnamed func() int64
		want    int64
	}{
		"nothing is lost":       {freeSpace{}, unnamed, 0},
		"bytes are lost":        {freeSpace{bytes: 1 << 50}, unnamed, 6 * mebibyte},
		"files are lost":        {freeSpace{files: 1 << 40}, unnamed, 6 * mebibyte},
		"no files unnamed":      {freeSpace{bytes: 1 << 50}, nil, mebibyte},
		"somebody gave it back": {freeSpace{bytes: -1 << 50, files: -1 << 40}, unnamed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := NewDisk(sandbox.Spec{Mounts: mounts, Limits: sandbox.Limits{Disk: 1 << 44}}, tt.unnamed)
			if len(d.mounts) != 1 {
				t.Fatalf("watched are %v", d.mounts)
			}
			d.since = time.Unix(0, 0)
			now := d.mounts[dir]
			d.mounts[dir] = freeSpace{now.bytes + tt.lost.bytes, now.files + tt.lost.files}
			bigFile(t, filepath.Join(dir, "file"))
			if got := d.Taken(t.Context()); got < tt.want || got > tt.want+mebibyte/2 {
				t.Errorf("took %d, want about %d", got, tt.want)
			}
		})
	}
}

// Adding up is not repeated at once: a guest decides how long it takes.
func TestTakenRests(t *testing.T) {
	d := NewDisk(sandbox.Spec{Mounts: []sandbox.Mount{{Source: t.TempDir()}}}, func() int64 {
		time.Sleep(10 * time.Millisecond) // a slow measurement
		return 1
	})
	for dir := range d.mounts {
		d.mounts[dir] = freeSpace{bytes: 1 << 60}
	}
	if first, second := d.Taken(t.Context()), d.Taken(t.Context()); first == 0 || second != 0 {
		t.Errorf("took %d, then %d", first, second)
	}
}
