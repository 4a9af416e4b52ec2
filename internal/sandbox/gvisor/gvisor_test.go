//go:build linux

package gvisor_test

import (
	"os"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/gvisor"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

var binaries sandboxtest.Binaries

func TestMain(m *testing.M) { os.Exit(sandboxtest.Main(m, &binaries)) }

// newEngine returns an engine with a state folder of its own.
func newEngine(t testing.TB) *gvisor.Engine {
	t.Helper()
	return sandboxtest.Usable(t, gvisor.New(sandboxtest.StateDir(t), binaries.Ralph))
}

func TestConformance(t *testing.T) {
	sandboxtest.Conformance(t, newEngine(t), sandboxtest.Options{})
}

func TestAttack(t *testing.T) {
	sandboxtest.Attack(t, newEngine(t), sandboxtest.AttackOptions{})
}

func TestMachine(t *testing.T) {
	sandboxtest.Machine(t, binaries, func(state string) sandbox.Engine { return gvisor.New(state, binaries.Ralph) })
}

// TestOrdinaryUser runs this package's other tests once more without any
// privilege, when they are run as root.
func TestOrdinaryUser(t *testing.T) {
	newEngine(t)
	sandboxtest.AgainAsOrdinaryUser(t, binaries.Prebuilt())
}
