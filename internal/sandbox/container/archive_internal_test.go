package container

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestArchive: the same folder has the same name, whenever and by whomever it was
// made, and everything in it is root's.
func TestArchive(t *testing.T) {
	make := func() string {
		dir := t.TempDir()
		for _, err := range []error{
			os.MkdirAll(filepath.Join(dir, "etc"), 0o700), os.Mkdir(filepath.Join(dir, "tmp"), 0o700),
			os.WriteFile(filepath.Join(dir, "etc", "passwd"), []byte("root\n"), 0o600), os.Symlink("usr/bin", filepath.Join(dir, "bin")),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	first, second := filepath.Join(t.TempDir(), "1.tar"), filepath.Join(t.TempDir(), "2.tar")
	one, err := archive(make(), first)
	if err != nil {
		t.Fatal(err)
	}
	dir := make()
	if err := os.Chtimes(filepath.Join(dir, "etc", "passwd"), time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if two, err := archive(dir, second); err != nil || one != two {
		t.Errorf("got %s and %s, %v", one, two, err)
	}
	checkArchive(t, first)
	if err := os.WriteFile(filepath.Join(dir, "etc", "passwd"), []byte("other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if three, err := archive(dir, filepath.Join(t.TempDir(), "3.tar")); err != nil || three == one {
		t.Errorf("another content has the same name %s, %v", three, err)
	}
}

func checkArchive(t *testing.T, file string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := map[string]int64{"bin": 0o777, "etc/": 0o755, "etc/passwd": 0o644, "tmp/": 0o1777}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Mode != want[h.Name] || h.ModTime.Unix() > 0 || h.Name == "bin" && h.Linkname != "usr/bin" {
			t.Errorf("%+v", h)
		}
		delete(want, h.Name)
	}
	if len(want) > 0 {
		t.Errorf("not there: %v", want)
	}
}
