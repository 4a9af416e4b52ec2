//go:build linux

package container_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/container"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// TestClonesAreClosed: for root, a workspace is shown to the engine at a second
// place. What lies in a folder that only root may enter stays there.
func TestClonesAreClosed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has clones")
	}
	e := newEngine(t, container.Docker)
	private := filepath.Join(t.TempDir(), "private")
	file := filepath.Join(private, "project", "file")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(private, 0o700); err != nil {
		t.Fatal(err)
	}
	spec := sandboxtest.Plain(t)
	spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: filepath.Dir(file), Target: "/mnt/project"})
	sb := sandboxtest.Create(t, e, spec)
	if got := sandboxtest.Output(t, sb, "cat", "/mnt/project/file"); got != "secret" {
		t.Errorf("inside it is %q", got)
	}
	copies, err := filepath.Glob(filepath.Join(e.options.StateDir, "docker", sb.ID(), "mounts", "*", "file"))
	if err != nil || len(copies) != 1 {
		t.Fatalf("the clone is not where this test looks for it: %v, %v", copies, err)
	}
	other := exec.Command("cat", copies[0])
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: sandboxtest.OrdinaryUser, Gid: sandboxtest.OrdinaryUser}}
	if out, err := other.Output(); err == nil {
		t.Errorf("another user reads %q", out)
	}
}
