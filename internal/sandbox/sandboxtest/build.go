package sandboxtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build compiles a command of this module without cgo and returns its path and
// a function that deletes it. Tests start sandboxes from such a binary because
// they may themselves be linked dynamically, which an empty root cannot run.
func Build(pkg string) (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "ralph-test-")
	if err != nil {
		return "", nil, fmt.Errorf("building %s: %w", pkg, err)
	}
	remove = func() { _ = os.RemoveAll(dir) }
	path = filepath.Join(dir, "ralph")
	build := exec.Command("go", "build", "-o", path, pkg)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err == nil {
		err = os.Chmod(dir, 0o755) // for tests that go on as another user
	}
	if err != nil {
		remove()
		return "", nil, fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return path, remove, nil
}
