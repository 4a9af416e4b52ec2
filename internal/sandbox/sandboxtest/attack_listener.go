package sandboxtest

import (
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

// attackListener is a service of the host. It greets with the secret, so that
// whoever gets through has something to show, and counts who came.
type attackListener struct {
	net.Listener
	connections atomic.Int64
}

// open starts a listener that lasts as long as the test.
func (h *attackHost) open(t *testing.T, network, address, secret string) *attackListener {
	t.Helper()
	l := newAttackListener(t, network, address, secret)
	h.listeners = append(h.listeners, l)
	return l
}

func newAttackListener(t *testing.T, network, address, secret string) *attackListener {
	t.Helper()
	plain, err := net.Listen(network, address)
	if err != nil {
		t.Fatalf("listening on %s: %v", address, err)
	}
	l := &attackListener{Listener: plain}
	if network == "unix" && !strings.HasPrefix(address, "@") {
		if err := os.Chmod(address, 0o777); err != nil { // its mode must not be what keeps others out
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.greet(secret)
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l
}

func (l *attackListener) greet(secret string) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		l.connections.Add(1)
		_, _ = conn.Write([]byte(secret)) // the other end may be gone
		conn.Close()
	}
}

// taken returns how many came since it was last asked.
func (l *attackListener) taken() int64 { return l.connections.Swap(0) }

// attackGate is a gate that lets nothing through.
type attackGate struct{ connections atomic.Int64 }

func (g *attackGate) serve(l net.Listener) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			return nil //nolint:nilerr // the sandbox has ended
		}
		g.connections.Add(1)
		conn.Close()
	}
}

func (g *attackGate) count() int64 { return g.connections.Load() }
