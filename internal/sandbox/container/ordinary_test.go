//go:build linux

package container_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// rootlessVar describes an ordinary user who has a podman of his own: variables,
// HOME among them, whose owner he is, then podman's arguments.
const rootlessVar = "RALPH_TEST_PODMAN_ROOTLESS"

// ordinary is that user, and what he may test.
type ordinary struct {
	user, group uint32
	env         []string
	podman      string
}

func findOrdinary() (ordinary, error) {
	var o ordinary
	words := strings.Fields(os.Getenv(rootlessVar))
	for len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		o.env = append(o.env, words[0])
		if home, ok := strings.CutPrefix(words[0], "HOME="); ok {
			info, err := os.Stat(home)
			if err != nil {
				return o, err
			}
			stat := info.Sys().(*syscall.Stat_t)
			o.user, o.group = stat.Uid, stat.Gid
		}
		words = words[1:]
	}
	if o.user == 0 {
		return o, errors.New(rootlessVar + " names no ordinary user with a podman")
	}
	o.podman = strings.Join(words, " ")
	return o, nil
}

// TestOrdinaryUser runs this package's other tests once more without any
// privilege, when they are run as root: with podman's rootless containers, and
// with docker as one of the group that may use it.
func TestOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this is an ordinary user already")
	}
	if testing.Short() {
		t.Skip("sandboxes are not for -short")
	}
	o, err := findOrdinary()
	if err != nil {
		sandboxtest.SkipEngine(t, err)
	}
	cmd := exec.CommandContext(t.Context(), copyOfThisTest(t), append([]string{"-test.v", "-test.count=1"}, sameTests()...)...)
	tmp := t.TempDir()
	if err := os.Chown(tmp, int(o.user), int(o.group)); err != nil {
		t.Fatal(err)
	}
	cmd.Dir = tmp
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, binaries.Prebuilt(), podmanVar+"="+o.podman)
	cmd.Env = append(cmd.Env, o.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: o.user, Gid: o.group, Groups: socketGroup(t)}}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}

// sameTests hands on what was asked for in the tests that are run again.
func sameTests() []string {
	if only := os.Getenv("RALPH_TEST_ORDINARY_RUN"); only != "" {
		return []string{"-test.run", only}
	}
	return nil
}

// copyOfThisTest is this very program where everybody may start it.
func copyOfThisTest(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "container.test")
	if err := os.WriteFile(copied, program, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return copied
}

// socketGroup is the group that may use docker.
func socketGroup(t *testing.T) []uint32 {
	t.Helper()
	info, err := os.Stat(strings.TrimPrefix(os.Getenv(dockerVar), "unix://"))
	if err != nil {
		t.Log(fmt.Errorf("docker is tested as root only: %w", err))
		return nil
	}
	return []uint32{info.Sys().(*syscall.Stat_t).Gid}
}
