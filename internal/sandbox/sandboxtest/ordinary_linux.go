package sandboxtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// OrdinaryUser is the id as which tests are run once more without privilege.
const OrdinaryUser = 54321

// AgainAsOrdinaryUser runs the test binary once more as a user who may nothing,
// when this one is root. env is added to its environment: it may have no Go to
// build what it needs.
func AgainAsOrdinaryUser(t *testing.T, env ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this is an ordinary user already")
	}
	program, home, tmp := copyOfSelf(t), t.TempDir(), t.TempDir()
	for _, dir := range []string{home, tmp} {
		if err := os.Chown(dir, OrdinaryUser, OrdinaryUser); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.v", "-test.count=1")
	cmd.Dir = home
	cmd.Env = append(append(os.Environ(), "HOME="+home, "TMPDIR="+tmp), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: OrdinaryUser, Gid: OrdinaryUser}}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

// copyOfSelf is the test binary at a place that everybody can reach.
func copyOfSelf(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "again.test")
	if err := os.WriteFile(program, data, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return program
}
