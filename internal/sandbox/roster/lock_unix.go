//go:build unix

package roster

import (
	"fmt"
	"os"
)

// nameLocked gives a new folder its name. It is locked before, so that no other
// ralph takes it for a dead one's.
func nameLocked(beside, dir string) (*os.File, error) {
	lock, err := createLock(beside)
	if err != nil {
		return nil, err
	}
	if err := os.Rename(beside, dir); err != nil {
		lock.Close()
		return nil, fmt.Errorf("creating the sandbox's folder: %w", err)
	}
	return lock, nil
}
