package machine

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// Self is the path of the ralph that sandboxes are started from: the given one,
// or this very program.
func Self(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	return self, nil
}

// CheckStatic refuses a binary that needs a dynamic linker: it is started again
// inside, in a root that may hold nothing else.
func CheckStatic(engine, binary string) error {
	f, err := elf.Open(binary)
	if err != nil {
		return fmt.Errorf("reading this program: %w", err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return &sandbox.UnavailableError{
				Engine: engine,
				Reason: "this ralph was built with cgo, and needs libraries that a sandbox does not have",
				Fix:    "build it with CGO_ENABLED=0, as make build does",
			}
		}
	}
	return nil
}

// Readable returns a path of binary that the users inside may read. One that
// only its owner may read is copied into dir.
func Readable(binary, dir string) (string, error) {
	info, err := os.Stat(binary)
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	if info.Mode().Perm()&0o005 == 0o005 {
		return binary, nil
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		return "", fmt.Errorf("reading this program: %w", err)
	}
	copied := filepath.Join(dir, "ralph")
	if err := os.WriteFile(copied, data, 0o755); err != nil {
		return "", fmt.Errorf("copying this program: %w", err)
	}
	return copied, nil
}
