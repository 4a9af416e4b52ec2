package sandboxtest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// StateDir is a new folder for an engine's state. Sandboxes are not for -short.
func StateDir(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("sandboxes are not for -short")
	}
	dir := t.TempDir()
	// For an engine that becomes nobody.
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Usable returns an engine that can run here. A machine that cannot skips the
// test, unless that is forbidden.
func Usable[E sandbox.Engine](t testing.TB, e E) E {
	t.Helper()
	if _, err := e.Probe(t.Context()); err != nil {
		SkipEngine(t, err)
	}
	return e
}

// Plain is a sandbox on an empty workspace.
func Plain(t testing.TB) sandbox.Spec {
	t.Helper()
	dir := t.TempDir()
	return sandbox.Spec{
		Mounts:  []sandbox.Mount{{Source: dir, Target: dir}},
		Env:     sandbox.BaseEnv(sandbox.NetworkNone),
		Network: sandbox.NetworkNone,
	}
}

// guestPath is where WithGuest shows the guest program.
const guestPath = "/mnt/guest"

// WithGuest is Plain with the guest program in it.
func WithGuest(t testing.TB, b Binaries) sandbox.Spec {
	t.Helper()
	spec := Plain(t)
	spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: b.Guest, Target: guestPath, ReadOnly: true})
	return spec
}

// Create makes a sandbox that is closed when the test ends.
func Create(t testing.TB, e sandbox.Engine, spec sandbox.Spec) sandbox.Sandbox {
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

// Output runs a command that must succeed and returns what it printed.
func Output(t testing.TB, sb sandbox.Sandbox, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code, err := sb.Exec(t.Context(), sandbox.Command{Args: args, Stdout: &stdout, Stderr: &stderr})
	if err != nil || code != 0 {
		t.Fatalf("%s: exit code %d, %v\n%s", strings.Join(args, " "), code, err, &stderr)
	}
	return stdout.String()
}
