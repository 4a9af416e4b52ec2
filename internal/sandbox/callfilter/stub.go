//go:build !linux || !(amd64 || arm64)

package callfilter

import (
	"errors"
	"fmt"
	"runtime"
)

// Install always fails here: there are no filters for this system.
func Install(Options) error { return missing() }

// InstallForFiles always fails here: there are no filters for this system.
func InstallForFiles() error { return missing() }

func missing() error {
	return fmt.Errorf("filtering system calls on %s/%s: %w", runtime.GOOS, runtime.GOARCH, errors.ErrUnsupported)
}
