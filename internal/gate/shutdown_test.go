package gate

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// openTunnel is a rig with one tunnel through which a byte has passed.
func openTunnel(t *testing.T) (*rig, net.Conn) {
	t.Helper()
	l := echo(t)
	r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{"tcp://" + l.Addr().String()}, nil)})
	conn := r.connect(t, l.Addr().String())
	io.WriteString(conn, ".")
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return r, conn
}

// TestShutdownWaits lets a tunnel end by itself, while new ones are refused.
func TestShutdownWaits(t *testing.T) {
	r, conn := openTunnel(t)
	done := make(chan error, 1)
	go func() { done <- r.proxy.Shutdown(context.Background()) }()
	if err := <-r.served; err != nil {
		t.Errorf("Serve returned %v", err)
	}
	if late, err := net.Dial("tcp", r.addr); err == nil {
		late.Close()
		t.Error("a connection was accepted after Shutdown")
	}
	select {
	case err := <-done:
		t.Fatalf("Shutdown returned %v while a tunnel was open", err)
	default:
	}
	io.WriteString(conn, "last")
	conn.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(conn); string(got) != "last" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if err := <-done; err != nil {
		t.Errorf("Shutdown returned %v", err)
	}
	if e := r.event(t); e.BytesUp != 5 || e.BytesDown != 5 {
		t.Errorf("event %+v", e)
	}
}

// TestShutdownEndsTunnels closes what is still open when time is up, and has
// logged it when it returns.
func TestShutdownEndsTunnels(t *testing.T) {
	r, conn := openTunnel(t)
	go func() {
		for _, err := conn.Write(make([]byte, 64<<10)); err == nil; _, err = conn.Write(make([]byte, 64<<10)) {
		}
	}()
	go io.Copy(io.Discard, conn)
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	if err := r.proxy.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown returned %v", err)
	}
	select {
	case e := <-r.events:
		if e.BytesUp == 0 {
			t.Errorf("event %+v", e)
		}
	default:
		t.Error("no event when Shutdown had returned")
	}
}

// TestShutdownEndsDials ends a request that waits for a resolver.
func TestShutdownEndsDials(t *testing.T) {
	r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{"example.com"}, nil), Resolver: silent{}, Limits: Limits{ResolveTimeout: time.Hour}})
	conn := r.dial(t)
	io.WriteString(conn, "CONNECT example.com:443 HTTP/1.1\r\n\r\n")
	for r.proxy.open.serving() == 0 {
		time.Sleep(time.Millisecond) // polling, for there is nothing to wait on
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.proxy.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown returned %v", err)
	}
	wantClosed(t, conn)
}

func (s *registry) serving() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.clients)
}

// TestClosing refuses a request that comes in between.
func TestClosing(t *testing.T) {
	r := startRig(t, Config{})
	r.proxy.open.refuseNew()
	if resp, body := r.send(t, "GET /health HTTP/1.1\r\nHost: gate\r\n\r\n"); resp.StatusCode != 503 || body != "ralph: the gate is closing\n" {
		t.Errorf("answer %s %q", resp.Status, body)
	}
}

// TestServeEndsWithListener is how an engine ends a sandbox.
func TestServeEndsWithListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := startRigOn(t, Config{}, l)
	l.Close()
	if err := <-r.served; err != nil {
		t.Errorf("Serve returned %v", err)
	}
}
