//go:build linux

package bubblewrap_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox/bubblewrap"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// ralphBinary is ralph itself, which TestMain builds.
var ralphBinary string

// prebuiltVar hands it to a test that is run again as another user, who may have
// no Go.
const prebuiltVar = "RALPH_TEST_BINARY"

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if ralphBinary = os.Getenv(prebuiltVar); ralphBinary != "" {
		return m.Run()
	}
	built, remove, err := sandboxtest.Build("github.com/agent-loop/ralph")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	ralphBinary = built
	return m.Run()
}

// newEngine returns an engine with a state folder of its own. A machine that
// cannot run it skips the test, unless that is forbidden.
func newEngine(t testing.TB) *bubblewrap.Engine {
	t.Helper()
	if testing.Short() {
		t.Skip("sandboxes are not for -short")
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
		t.Fatal(err)
	}
	e := bubblewrap.New(dir, ralphBinary)
	if _, err := e.Probe(t.Context()); err != nil {
		sandboxtest.SkipEngine(t, err)
	}
	return e
}

func TestConformance(t *testing.T) {
	sandboxtest.Conformance(t, newEngine(t), sandboxtest.Options{})
}

func TestAttack(t *testing.T) {
	sandboxtest.Attack(t, newEngine(t), sandboxtest.AttackOptions{})
}

// TestOrdinaryUser runs this package's other tests once more without any
// privilege, when they are run as root.
func TestOrdinaryUser(t *testing.T) {
	newEngine(t)
	sandboxtest.AgainAsOrdinaryUser(t, prebuiltVar+"="+ralphBinary)
}
