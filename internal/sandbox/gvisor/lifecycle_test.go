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
	"github.com/agent-loop/ralph/internal/sandbox/gvisor"
)

func TestCloseLeavesNothingBehind(t *testing.T) {
	state := t.TempDir()
	if err := os.Chmod(filepath.Dir(state), 0o711); err != nil {
		t.Fatal(err)
	}
	newEngine(t) // skips where there is none
	e := gvisor.New(state, ralphBinary)
	spec := newSpec(t)
	sb := create(t, e, spec)
	if err := sb.Close(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Join(state, gvisor.Name), spec.Workspace()} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s holds %v, %v", dir, left, err)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || strings.Contains(string(mounts), state) {
		t.Errorf("a mount was left: %v", err)
	}
}

func TestFailedCreateNamesItsCauseAndLeavesNothing(t *testing.T) {
	e := newEngine(t)
	spec := newSpec(t)
	spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: t.TempDir(), Target: "/usr/nothing-here"})
	_, err := e.Create(t.Context(), spec)
	if err == nil || !strings.Contains(err.Error(), "/usr/nothing-here") {
		t.Errorf("error is %v, want one that names the mount", err)
	}
	if left, err := e.List(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("List gives %v, %v", left, err)
	}
}

// A socket's path may have 107 bytes. Users' folders know no such limit.
func TestStateFolderMayHaveALongPath(t *testing.T) {
	newEngine(t)
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 40))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for p := dir; p != os.TempDir(); p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got := output(t, create(t, gvisor.New(dir, ralphBinary), newSpec(t)), "echo", "hi"); got != "hi\n" {
		t.Errorf("got %q", got)
	}
}

func TestRootfsFolderReplacesTheHostsPrograms(t *testing.T) {
	e := newEngine(t)
	root := t.TempDir()
	program, err := os.ReadFile(guestBinary)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "bin", "guest"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	spec := newSpec(t)
	spec.Rootfs = root
	sb := create(t, e, spec)
	if got := output(t, sb, "guest", "loopback"); got != "hello\n" {
		t.Errorf("got %q", got)
	}
	_, err = sb.Exec(t.Context(), sandbox.Command{Args: []string{"sh"}})
	var start *sandbox.StartError
	if !errors.As(err, &start) || start.Code != 127 {
		t.Errorf("the host's shell: error is %v, want a StartError with code 127", err)
	}
}

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
	spec := newSpec(t)
	spec.Mounts[0] = sandbox.Mount{Source: merged, Target: merged}
	_, err := e.Create(t.Context(), spec)
	var unavailable *sandbox.UnavailableError
	if !errors.As(err, &unavailable) || !strings.Contains(unavailable.Fix, "owner of the workspace") {
		t.Errorf("error is %v, want an UnavailableError that says what to do", err)
	}
}
