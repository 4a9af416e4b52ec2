//go:build linux

package container_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// rootlessVar is the home directory of an ordinary user who has a podman of his own,
// rootlessRunVar its XDG_RUNTIME_DIR.
const (
	rootlessVar    = "RALPH_TEST_ROOTLESS_HOME"
	rootlessRunVar = "RALPH_TEST_ROOTLESS_RUN"
)

// TestOrdinaryUser runs tests once more without any privilege, when they are run as
// root: with podman's rootless containers, and with docker as one of the group that
// may use it, which differs in whose files it works on.
func TestOrdinaryUser(t *testing.T) {
	if testing.Short() {
		t.Skip("sandboxes are not for -short")
	}
	if os.Geteuid() != 0 {
		t.Skip("this is an ordinary user already")
	}
	home := os.Getenv(rootlessVar)
	if home == "" {
		sandboxtest.SkipEngine(t, errors.New(rootlessVar+" names no ordinary user with a podman"))
	}
	info, err := os.Stat(home)
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	who := syscall.Credential{Uid: owner.Uid, Gid: owner.Gid, Groups: socketGroup(t)}
	for name, tests := range map[string]string{
		"podman": "^Test(Conformance|Attack|Machine|Image|ImageSettings|OddPaths|User|RalphKilled|Sweep|UserSettingsStayOut)$/^podman$",
		"docker": "^Test(Conformance|OddPaths|User|RalphKilled)$/^docker$",
	} {
		t.Run(name, func(t *testing.T) {
			sandboxtest.AgainAs(t, who, tests, binaries.Prebuilt(), "HOME="+home, "XDG_RUNTIME_DIR="+os.Getenv(rootlessRunVar),
				"CONTAINERS_CONF=", "CONTAINERS_STORAGE_CONF=")
		})
	}
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
