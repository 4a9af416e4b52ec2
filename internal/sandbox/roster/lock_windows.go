package roster

import (
	"fmt"
	"os"
)

// nameLocked gives a new folder its name. It cannot be locked before: a folder
// with an open file in it cannot be renamed here. A sweep leaves it alone all the
// same, for it has no record and is young; somebody who looks at the wrong moment
// makes this fail with lockfile.ErrHeld.
func nameLocked(beside, dir string) (*os.File, error) {
	if err := os.Rename(beside, dir); err != nil {
		return nil, fmt.Errorf("creating the sandbox's folder: %w", err)
	}
	return createLock(dir)
}
