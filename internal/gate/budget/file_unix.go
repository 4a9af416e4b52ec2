//go:build unix

package budget

import (
	"os"
	"path/filepath"
	"syscall"
)

// openFlags keep a planted link from leading elsewhere.
const openFlags = syscall.O_NOFOLLOW

// syncDirectory makes a new file's name survive a power loss.
func syncDirectory(path string) error {
	directory, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer directory.Close()
	return directory.Sync()
}
