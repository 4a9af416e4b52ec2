package gate

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

const soon = 60 * time.Millisecond

// TestSlowHead drips a request's head and wants the connection closed, however
// busy it keeps itself.
func TestSlowHead(t *testing.T) {
	r := startRig(t, Config{Limits: Limits{HeaderTimeout: soon}})
	conn := r.dial(t)
	go func() {
		for _, err := io.WriteString(conn, "CONNECT a.test:443 HTTP/1.1\r\n"); err == nil; _, err = io.WriteString(conn, "X: y\r\n") {
			time.Sleep(soon / 10) // the dripping itself
		}
	}()
	wantClosed(t, conn)
	if e := r.event(t); e.Allowed || e.Reason != "no valid request in time" {
		t.Errorf("event %+v", e)
	}
}

// wantClosed wants the far end to close without an answer.
func wantClosed(t *testing.T, conn net.Conn) {
	t.Helper()
	got, err := io.ReadAll(conn)
	if isTimeout(err) {
		t.Error("the connection is still open")
	}
	if len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

// TestSlowHello opens a tunnel and says nothing, or half of something.
func TestSlowHello(t *testing.T) {
	for _, first := range []string{"", "\x16\x03\x01"} {
		l := echo(t)
		r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{l.Addr().String()}, nil), Limits: Limits{HelloTimeout: soon}})
		conn := r.connect(t, l.Addr().String())
		io.WriteString(conn, first)
		io.Copy(io.Discard, conn)
		if e := r.event(t); e.Allowed || !strings.Contains(e.Reason, "no TLS ClientHello") {
			t.Errorf("after %q: event %+v", first, e)
		}
	}
}

// TestIdleTunnel closes a tunnel on which nothing passes.
func TestIdleTunnel(t *testing.T) {
	l := echo(t)
	r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{"tcp://" + l.Addr().String()}, nil), Limits: Limits{IdleTimeout: soon}})
	wantClosed(t, r.connect(t, l.Addr().String()))
	if e := r.event(t); !strings.HasSuffix(e.Reason, "closed: idle") || !e.Allowed {
		t.Errorf("event %+v", e)
	}
}

// TestStuckTunnel fills a tunnel whose client does not read.
func TestStuckTunnel(t *testing.T) {
	ended := make(chan struct{})
	l := listen(t, func(conn net.Conn) {
		defer close(ended)
		for _, err := conn.Write(make([]byte, 1<<20)); err == nil; _, err = conn.Write(make([]byte, 1<<20)) {
		}
	})
	r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{"tcp://" + l.Addr().String()}, nil), Limits: Limits{IdleTimeout: 4 * soon}})
	r.connect(t, l.Addr().String())
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("the tunnel is still open")
	}
	if e := r.event(t); !strings.HasSuffix(e.Reason, "closed: idle") {
		t.Errorf("event %+v", e)
	}
}

// TestStalledForward has each side of a plain request stop halfway.
func TestStalledForward(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	config, _, _ := plainConfig(t, func(w http.ResponseWriter, req *http.Request) {
		io.Copy(io.Discard, req.Body)
		io.WriteString(w, "begun")
		w.(http.Flusher).Flush()
		<-hold
	}, "example.com")
	config.Limits = Limits{IdleTimeout: soon, HeaderTimeout: soon}
	r := startRig(t, config)
	t.Run("the client's body", func(t *testing.T) {
		conn := r.dial(t)
		io.WriteString(conn, "POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\nContent-Length: 10\r\n\r\nhalf")
		if _, err := io.ReadAll(conn); isTimeout(err) {
			t.Error("the connection is still open")
		}
		if e := r.event(t); e.Reason == "allowed by rule" {
			t.Errorf("event %+v", e)
		}
	})
	t.Run("the upstream's body", func(t *testing.T) {
		conn := r.dial(t)
		io.WriteString(conn, "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n")
		if _, err := io.ReadAll(conn); isTimeout(err) {
			t.Error("the connection is still open")
		}
		if e := r.event(t); e.Reason != "the response was cut short" {
			t.Errorf("event %+v", e)
		}
	})
}

// TestStalledRefusal sends a body that is not wanted, and not all of it.
func TestStalledRefusal(t *testing.T) {
	r := startRig(t, Config{Limits: Limits{HeaderTimeout: soon}})
	conn := r.dial(t)
	io.WriteString(conn, "POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\nContent-Length: 10\r\n\r\nhalf")
	got, err := io.ReadAll(conn)
	if isTimeout(err) || !strings.HasPrefix(string(got), "HTTP/1.1 403 ") {
		t.Errorf("got %q, %v", got, err)
	}
}

// silent is a resolver that never answers.
type silent struct{}

func (silent) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	<-ctx.Done()
	return nil, errors.New("gave up")
}

func TestSilentResolver(t *testing.T) {
	r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{"example.com"}, nil), Resolver: silent{}, Limits: Limits{ResolveTimeout: soon}})
	resp, body := r.send(t, "CONNECT example.com:443 HTTP/1.1\r\n\r\n")
	if resp.StatusCode != http.StatusGatewayTimeout || !strings.Contains(body, "could not be resolved in time") {
		t.Errorf("answer %s %q", resp.Status, body)
	}
}

// TestSilentUpstream tries every address in the time there is, and no longer.
func TestSilentUpstream(t *testing.T) {
	tried := make(chan netip.AddrPort, 8)
	r := startRig(t, Config{
		Policy:   mustPolicy(t, ModeAllowlist, []string{"example.com"}, nil),
		Resolver: newZone(map[string][]string{"example.com": {"93.184.216.34 93.184.216.35"}}),
		Dial: func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
			tried <- addr
			<-ctx.Done()
			return nil, ctx.Err()
		},
		Limits: Limits{DialTimeout: soon},
	})
	resp, body := r.send(t, "CONNECT example.com:443 HTTP/1.1\r\n\r\n")
	if resp.StatusCode != http.StatusGatewayTimeout || !strings.Contains(body, "could not be opened in time") {
		t.Errorf("answer %s %q", resp.Status, body)
	}
	if len(tried) != 2 {
		t.Errorf("tried %d addresses, want 2", len(tried))
	}
}

// TestSecondAddress goes on to the next address when one does not answer.
func TestSecondAddress(t *testing.T) {
	l := echo(t)
	r := startRig(t, Config{
		Policy:   mustPolicy(t, ModeAllowlist, []string{"tcp://example.com:443"}, nil),
		Resolver: newZone(map[string][]string{"example.com": {"2606:4700::1111 93.184.216.34"}}),
		Dial: func(_ context.Context, addr netip.AddrPort) (net.Conn, error) {
			if addr.Addr().Is6() {
				return nil, errors.New("network is unreachable")
			}
			return net.Dial("tcp", l.Addr().String())
		},
	})
	r.connect(t, "example.com:443").Close()
	if e := r.event(t); e.Addr != "93.184.216.34:443" {
		t.Errorf("event %+v", e)
	}
}

// TestTooManyConnections refuses those beyond the cap, and serves again when one
// has gone.
func TestTooManyConnections(t *testing.T) {
	l := echo(t)
	const most = 3
	r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{"tcp://" + l.Addr().String()}, nil), Limits: Limits{MaxConns: most}})
	var held []net.Conn
	for range most {
		held = append(held, r.connect(t, l.Addr().String()))
	}
	resp, body := r.send(t, "CONNECT "+l.Addr().String()+" HTTP/1.1\r\n\r\n")
	if resp.StatusCode != http.StatusServiceUnavailable || body != "ralph: too many connections\n" {
		t.Errorf("answer %s %q", resp.Status, body)
	}
	if e := r.event(t); e.Allowed || e.Reason != "too many connections" {
		t.Errorf("event %+v", e)
	}
	held[0].Close()
	r.event(t) // the tunnel has ended; its slot is given back before
	r.connect(t, l.Addr().String())
}

// TestFarTooManyConnections keeps the rest waiting outside without harm.
func TestFarTooManyConnections(t *testing.T) {
	r := startRig(t, Config{Limits: Limits{MaxConns: 1, HeaderTimeout: 4 * soon}})
	for range refusalSlots + 20 {
		r.dial(t) // says nothing, and is closed after the header's time
	}
	if resp, _ := r.send(t, "GET /health HTTP/1.1\r\nHost: gate\r\n\r\n"); resp.StatusCode != 200 && resp.StatusCode != 503 {
		t.Errorf("answer %s", resp.Status)
	}
}
