//go:build linux

package gvisor_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// As root, a file system without id-mapped mounts is refused with the way out.
func TestRootNeedsMappedMounts(t *testing.T) {
	e := newEngine(t)
	if os.Geteuid() != 0 {
		t.Skip("only root maps mounts")
	}
	base := t.TempDir()
	for _, dir := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	merged := filepath.Join(base, "merged")
	options := "lowerdir=" + base + "/lower,upperdir=" + base + "/upper,workdir=" + base + "/work"
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		t.Skipf("no overlay file system to try it on: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(merged, 0) })
	spec := sandboxtest.Plain(t)
	spec.Mounts[0] = sandbox.Mount{Source: merged, Target: merged}
	_, err := e.Create(t.Context(), spec)
	var unavailable *sandbox.UnavailableError
	if !errors.As(err, &unavailable) || !strings.Contains(unavailable.Fix, "owner of the workspace") {
		t.Errorf("error is %v, want an UnavailableError that says what to do", err)
	}
}
