package gate

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"
)

// TestShutdownEndsHalfOpenTunnels closes a tunnel whose client has gone and whose
// upstream is silent: only the upstream's side of it is still waited for.
func TestShutdownEndsHalfOpenTunnels(t *testing.T) {
	clientGone, hold := make(chan struct{}), make(chan struct{})
	defer close(hold)
	l := listen(t, func(conn net.Conn) {
		readAll(conn)
		close(clientGone)
		<-hold
	})
	r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{"tcp://" + l.Addr().String()}, nil)})
	r.connect(t, l.Addr().String()).Close()
	<-clientGone
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	done := make(chan error, 1)
	go func() { done <- r.proxy.Shutdown(ctx) }()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Shutdown returned %v", err)
		}
	case <-time.After(patience):
		t.Fatal("Shutdown hangs")
	}
	if e := r.event(t); !e.Allowed {
		t.Errorf("event %+v", e)
	}
}
