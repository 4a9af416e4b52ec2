//go:build linux

package gvisor_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/gvisor"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// What TestMain builds: ralph itself, and a program for the guest.
var ralphBinary, guestBinary string

// prebuiltVar hands both to a test that is run again as another user, who may
// have no Go.
const prebuiltVar = "RALPH_TEST_BINARIES"

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if prebuilt := os.Getenv(prebuiltVar); prebuilt != "" {
		ralphBinary, guestBinary, _ = strings.Cut(prebuilt, ":")
		return m.Run()
	}
	for pkg, path := range map[string]*string{
		"github.com/agent-loop/ralph": &ralphBinary,
		"./testdata/guest":            &guestBinary,
	} {
		built, remove, err := sandboxtest.Build(pkg)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer remove()
		*path = built
	}
	return m.Run()
}

// newEngine returns an engine with a state folder of its own. A machine that
// cannot run it skips the test, unless that is forbidden.
func newEngine(t testing.TB) *gvisor.Engine {
	t.Helper()
	if testing.Short() {
		t.Skip("sandboxes are not for -short")
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
		t.Fatal(err)
	}
	e := gvisor.New(dir, ralphBinary)
	if _, err := e.Probe(context.Background()); err != nil {
		sandboxtest.SkipEngine(t, err)
	}
	return e
}

// newSpec is a plain sandbox on an empty workspace.
func newSpec(t testing.TB) sandbox.Spec {
	t.Helper()
	dir := t.TempDir()
	return sandbox.Spec{
		Mounts:  []sandbox.Mount{{Source: dir, Target: dir}},
		Env:     sandbox.BaseEnv(sandbox.NetworkNone),
		Network: sandbox.NetworkNone,
	}
}

func create(t testing.TB, e sandbox.Engine, spec sandbox.Spec) sandbox.Sandbox {
	t.Helper()
	sb, err := e.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sb.Close(); err != nil {
			t.Error(err)
		}
	})
	return sb
}

// output runs a command that must succeed and returns what it printed.
func output(t testing.TB, sb sandbox.Sandbox, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code, err := sb.Exec(t.Context(), sandbox.Command{Args: args, Stdout: &stdout, Stderr: &stderr})
	if err != nil || code != 0 {
		t.Fatalf("%s: exit code %d, %v\n%s", strings.Join(args, " "), code, err, &stderr)
	}
	return stdout.String()
}

func TestConformance(t *testing.T) {
	sandboxtest.Conformance(t, newEngine(t), sandboxtest.Options{Loopback: checkLoopback})
}

// checkLoopback runs a server and its client inside, as test suites do.
func checkLoopback(t *testing.T, _ sandbox.Sandbox, _ sandbox.Info) {
	spec := newSpec(t)
	spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: guestBinary, Target: "/mnt/guest", ReadOnly: true})
	if got := output(t, create(t, newEngine(t), spec), "/mnt/guest", "loopback"); got != "hello\n" {
		t.Errorf("got %q", got)
	}
}
