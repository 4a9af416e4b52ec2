package sandboxtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// OrdinaryUser is the id as which tests are run once more without privilege.
const OrdinaryUser = 54321

// AgainAsOrdinaryUser runs the test binary once more as a user who may nothing,
// when this one is root. env is added to its environment: it may have no Go to
// build what it needs.
func AgainAsOrdinaryUser(t *testing.T, env ...string) {
	t.Helper()
	home := t.TempDir()
	if err := os.Chown(home, OrdinaryUser, OrdinaryUser); err != nil && os.Geteuid() == 0 {
		t.Fatal(err)
	}
	AgainAs(t, syscall.Credential{Uid: OrdinaryUser, Gid: OrdinaryUser}, "", append(env, "HOME="+home)...)
}

// AgainAs runs those tests of the test binary whose names match once more as
// somebody else, when this one is root. A variable of env without a value is taken
// away.
func AgainAs(t *testing.T, who syscall.Credential, tests string, env ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this is an ordinary user already")
	}
	tmp := t.TempDir()
	if err := os.Chown(tmp, int(who.Uid), int(who.Gid)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), copyOfSelf(t), "-test.v", "-test.count=1", "-test.run", tests)
	cmd.Dir = tmp
	cmd.Env = changed(os.Environ(), append(env, "TMPDIR="+tmp))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &who}
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

// changed is an environment with other variables in it. An empty one is not set.
func changed(base, change []string) []string {
	return slices.DeleteFunc(sandbox.MergeEnv(base, change), func(entry string) bool {
		return slices.Contains(change, entry) && strings.HasSuffix(entry, "=")
	})
}
