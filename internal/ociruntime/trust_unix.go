//go:build unix

package ociruntime

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// trustworthy refuses a folder in which somebody else could put another program
// in the place of ours: the engine runs it as root. That is so when the folder or
// one above it belongs to another user or can be written by one; a sticky folder,
// as /tmp is, keeps others from moving what is ours.
func trustworthy(dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	for above := real; ; above = filepath.Dir(above) {
		if err := safeFolder(above); err != nil {
			return err
		}
		if above == filepath.Dir(above) {
			return nil
		}
	}
}

// safeFile tells whether nobody else can change a file.
func safeFile(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o022 != 0 {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && (s.Uid == 0 || int(s.Uid) == os.Geteuid())
}

func safeFolder(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Uid != 0 && int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("the folder %s belongs to another user, who could replace the runtime", dir)
	}
	if info.Mode().Perm()&0o022 != 0 && info.Mode()&os.ModeSticky == 0 {
		return fmt.Errorf("the folder %s can be written by others, who could replace the runtime", dir)
	}
	return nil
}
