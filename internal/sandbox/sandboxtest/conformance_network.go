package sandboxtest

import (
	"net"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

func networkChecks() []check {
	return []check{
		{"the gate gets one listener, closed with the sandbox", checkGateListener},
	}
}

func checkGateListener(t *testing.T, s *suite) {
	s.needs(t, slices.Contains(s.info.Networks, sandbox.NetworkGate), "gate")
	var calls atomic.Int32
	closed := make(chan error, 1)
	b := s.newBox(t, func(spec *sandbox.Spec) {
		spec.Network = sandbox.NetworkGate
		spec.Env = sandbox.BaseEnv(sandbox.NetworkGate)
		spec.Gate = func(l net.Listener) error {
			calls.Add(1)
			_, err := l.Accept() // nobody dials, so only closing ends it
			closed <- err
			return nil
		}
	})
	b.out(t, "true")
	select {
	case err := <-closed:
		t.Fatalf("the listener ended while the sandbox runs: %v", err)
	default:
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	select {
	case err := <-closed:
		if err == nil {
			t.Error("the gate got a connection that nobody made")
		}
	case <-patiently(t).Done():
		t.Error("the listener outlives the sandbox")
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("the gate was called %d times", n)
	}
}
