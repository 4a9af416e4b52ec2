//go:build linux

package gvisor_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

func TestAttack(t *testing.T) {
	sandboxtest.Attack(t, newEngine(t), sandboxtest.AttackOptions{})
}

// ordinaryUser is an id that nobody has.
const ordinaryUser = 54321

// TestOrdinaryUser runs this package's other tests once more without any
// privilege, when they are run as root.
func TestOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this is an ordinary user already")
	}
	newEngine(t)
	dir := t.TempDir()
	copied := filepath.Join(dir, "gvisor.test")
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, program, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	home, tmp := t.TempDir(), t.TempDir()
	for _, d := range []string{home, tmp} {
		if err := os.Chown(d, ordinaryUser, ordinaryUser); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), copied, "-test.v", "-test.count=1")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+tmp, prebuiltVar+"="+ralphBinary+":"+guestBinary)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryUser, Gid: ordinaryUser}}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}
