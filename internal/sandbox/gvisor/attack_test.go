//go:build linux

package gvisor_test

import (
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

func TestAttack(t *testing.T) {
	sandboxtest.Attack(t, newEngine(t), sandboxtest.AttackOptions{})
}

// TestOrdinaryUser runs this package's other tests once more without any
// privilege, when they are run as root.
func TestOrdinaryUser(t *testing.T) {
	newEngine(t)
	sandboxtest.AgainAsOrdinaryUser(t, prebuiltVar+"="+ralphBinary+":"+guestBinary)
}
