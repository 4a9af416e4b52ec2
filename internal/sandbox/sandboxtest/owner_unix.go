//go:build unix

package sandboxtest

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// owner names a file's user and group.
func owner(t *testing.T, path string) string {
	t.Helper()
	stat := lstat(t, path)
	return fmt.Sprintf("%d:%d", stat.Uid, stat.Gid)
}

// adopt gives a new file to the owner of the folder it is in.
func adopt(t *testing.T, path string) {
	t.Helper()
	dir := lstat(t, filepath.Dir(path))
	if file := lstat(t, path); file.Uid == dir.Uid && file.Gid == dir.Gid {
		return
	}
	if err := os.Lchown(path, int(dir.Uid), int(dir.Gid)); err != nil {
		t.Fatal(err)
	}
}

func lstat(t *testing.T, path string) *syscall.Stat_t {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t)
}
