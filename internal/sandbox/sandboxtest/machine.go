package sandboxtest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// machine is an engine that runs its sandboxes on this machine.
type machine struct {
	engine   sandbox.Engine
	binaries Binaries
	state    string
}

// Machine shows what holds for engines that run on this machine, keep their state
// in a folder of it and keep all limits: the door, the limits, and that nothing is
// left behind. newEngine makes an engine that keeps its state in a folder.
func Machine(t *testing.T, b Binaries, newEngine func(state string) sandbox.Engine) {
	state := StateDir(t)
	m := machine{engine: Usable(t, newEngine(state)), binaries: b, state: state}
	t.Run("a server on loopback", m.checkLoopback)
	t.Run("the door", m.checkDoor)
	t.Run("limits", m.checkLimits)
	t.Run("a root file system", m.checkRootfs)
	t.Run("a start that fails", m.checkFailedStart)
	t.Run("a state folder with a long path", func(t *testing.T) { checkLongPath(t, newEngine) })
	m.checkNothingLeft(t)
}

// checkNothingLeft looks for what sandboxes left behind that are all closed now.
func (m machine) checkNothingLeft(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(m.state, "*", "ralph-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || strings.Contains(string(mounts), m.state) {
		t.Errorf("a mount was left: %v", err)
	}
}

func (m machine) checkFailedStart(t *testing.T) {
	spec := Plain(t)
	spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: t.TempDir(), Target: "/usr/nothing-here"})
	_, err := m.engine.Create(t.Context(), spec)
	if err == nil || !strings.Contains(err.Error(), "/usr/nothing-here") {
		t.Errorf("error is %v, want one that names the mount", err)
	}
	if exists("/usr/nothing-here") {
		t.Error("the mount point was made on the host")
	}
	if left, err := m.engine.List(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("List gives %v, %v", left, err)
	}
}

// checkLongPath: a socket's path may have 107 bytes. Users' folders know no such
// limit.
func checkLongPath(t *testing.T, newEngine func(string) sandbox.Engine) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 40))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for p := dir; p != os.TempDir(); p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got := Output(t, Create(t, newEngine(dir), Plain(t)), "echo", "hi"); got != "hi\n" {
		t.Errorf("got %q", got)
	}
}

// checkRootfs: a folder takes the place of the host's programs.
func (m machine) checkRootfs(t *testing.T) {
	root := t.TempDir()
	program, err := os.ReadFile(m.binaries.Guest)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "bin", "guest"), string(program))
	if err := os.Chmod(filepath.Join(root, "bin", "guest"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, "opt", "old", "file"), "old")
	spec := Plain(t)
	spec.Rootfs = root
	// A place in a folder of the root that does not have it.
	spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: t.TempDir(), Target: "/opt/new/place"})
	sb := Create(t, m.engine, spec)
	if got := Output(t, sb, "guest", "loopback"); got != "hello\n" {
		t.Errorf("got %q", got)
	}
	_, err = sb.Exec(t.Context(), sandbox.Command{Args: []string{"sh"}})
	var start *sandbox.StartError
	if !errors.As(err, &start) || start.Code != 127 {
		t.Errorf("the host's shell: error is %v, want a StartError with code 127", err)
	}
}
