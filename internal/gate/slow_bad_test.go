package gate

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// pipeRig is a proxy whose clients have no buffer at all between it and them:
// each byte waits until it is read, as behind a door that is full.
func pipeRig(t testing.TB, c Config) (r *rig, dial func() net.Conn) {
	t.Helper()
	pipes := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	r = startRigOn(t, c, pipes)
	return r, func() net.Conn {
		conn, far := net.Pipe()
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(patience))
		pipes.conns <- far
		return conn
	}
}

// TestClientThatReadsNothing sends a request and never takes the answer. Its slot
// must come free, or 512 of these are the end of the gate.
func TestClientThatReadsNothing(t *testing.T) {
	flood103 := listen(t, func(conn net.Conn) {
		readHead(conn)
		for _, err := io.WriteString(conn, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"); err == nil; {
			_, err = io.WriteString(conn, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n")
		}
	}).Addr().String()
	empty := listen(t, func(conn net.Conn) {
		readHead(conn)
		io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
		io.Copy(io.Discard, conn)
	}).Addr().String()
	endless := listen(t, func(conn net.Conn) {
		readHead(conn)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		flood(conn)
	}).Addr().String()
	tests := []struct{ name, request, host string }{
		{"a refusal", "CONNECT evil.test:443 HTTP/1.1\r\n\r\n", "evil.test"},
		{"a malformed request", "GET x y z HTTP/1.1\r\n\r\n", ""},
		{"health", "GET /health HTTP/1.1\r\nHost: gate\r\n\r\n", "gate"},
		{"an empty response", plainGet(empty), "127.0.0.1"},
		{"an endless response", plainGet(endless), "127.0.0.1"},
		{"endless early hints", plainGet(flood103), "127.0.0.1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, dial := pipeRig(t, Config{
				Policy: mustPolicy(t, ModeAllowlist, []string{flood103, empty, endless}, nil),
				Limits: Limits{IdleTimeout: 2 * soon, HeaderTimeout: 2 * soon, MaxConns: 1},
			})
			io.WriteString(dial(), tt.request)
			if e := r.event(t); e.Host != tt.host {
				t.Errorf("event %+v, want host %q", e, tt.host)
			}
			waitFree(t, r)
		})
	}
}

// readHead reads a request without a body.
func readHead(conn net.Conn) { http.ReadRequest(bufio.NewReader(conn)) }

func plainGet(authority string) string {
	return fmt.Sprintf("GET http://%[1]s/ HTTP/1.1\r\nHost: %[1]s\r\n\r\n", authority)
}

// waitFree waits until no connection holds a slot but the one that is always
// held, for the next client.
func waitFree(t testing.TB, r *rig) {
	t.Helper()
	for deadline := time.Now().Add(patience); r.proxy.limiter.served.Load() > 0; {
		if time.Now().After(deadline) {
			t.Fatal("the connection still holds its slot")
		}
		time.Sleep(time.Millisecond) // polling, for there is nothing to wait on
	}
}

// TestSlowReader takes a response of a plain request a little at a time, then not
// at all. Slow is served; stuck is not.
func TestSlowReader(t *testing.T) {
	endless := listen(t, func(conn net.Conn) {
		readHead(conn)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		flood(conn)
	}).Addr().String()
	r, dial := pipeRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{endless}, nil), Limits: Limits{IdleTimeout: 8 * soon}})
	conn := dial()
	io.WriteString(conn, plainGet(endless))
	began := time.Now()
	for time.Since(began) < 16*soon { // twice the idle limit
		if _, err := io.ReadFull(conn, make([]byte, 64<<10)); err != nil {
			t.Fatalf("cut off while reading: %v", err)
		}
		time.Sleep(soon / 4) // the slowness itself
	}
	if e := r.event(t); e.Reason != "the response was cut short" || e.BytesDown < 1<<20 {
		t.Errorf("event %+v", e)
	}
	waitFree(t, r)
}

// plainRigWith is plainRig with limits, for example.com alone.
func plainRigWith(t testing.TB, limits Limits, handler http.HandlerFunc) (*rig, *zone, *switchboard) {
	t.Helper()
	config, names, board := plainConfig(t, handler, "example.com")
	config.Limits = limits
	return startRig(t, config), names, board
}

// TestSlowBody sends a body a byte at a time, each within the idle limit, and is
// served; nothing is lost on the way.
func TestSlowBody(t *testing.T) {
	r, _, _ := plainRigWith(t, Limits{IdleTimeout: 6 * soon}, dump)
	conn := r.dial(t)
	const body = "slow but steady"
	fmt.Fprintf(conn, "POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", len(body))
	for i := range body {
		io.WriteString(conn, body[i:i+1])
		time.Sleep(soon / 2) // the slowness itself: all of it takes longer than the idle limit
	}
	got, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(got), "body="+body) {
		t.Errorf("got %q, %v", got, err)
	}
	if e := r.event(t); e.Status != 200 || e.BytesUp != int64(len(body)) {
		t.Errorf("event %+v", e)
	}
}

// TestHalfOpenTunnels ends one direction from each side. The other direction may
// go on for as long as it likes, but not in silence.
func TestHalfOpenTunnels(t *testing.T) {
	tests := []struct {
		name     string
		upstream func(net.Conn)
		client   func(net.Conn) string
		want     string
		logs     string
	}{
		{"the client is done, the upstream answers then", func(conn net.Conn) {
			all, _ := io.ReadAll(conn)
			fmt.Fprintf(conn, "%d bytes", len(all))
		}, func(conn net.Conn) string {
			io.WriteString(conn, "question")
			conn.(*net.TCPConn).CloseWrite()
			return readString(conn)
		}, "8 bytes", "allowed by rule"},
		{"the upstream is done, the client goes on", func(conn net.Conn) {
			io.WriteString(conn, "welcome")
			conn.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, conn)
		}, func(conn net.Conn) string {
			got := readString(conn)
			io.WriteString(conn, "thanks")
			conn.Close()
			return got
		}, "welcome", "allowed by rule"},
		{"the client is done, the upstream is silent", func(conn net.Conn) {
			io.Copy(io.Discard, conn)
			<-time.After(20 * soon) // hold the connection open
		}, func(conn net.Conn) string {
			conn.(*net.TCPConn).CloseWrite()
			return readString(conn)
		}, "", "closed: idle"},
		{"the upstream is done, the client is silent", func(conn net.Conn) {
			conn.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, conn)
		}, func(conn net.Conn) string { return readString(conn) }, "", "closed: idle"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := listen(t, tt.upstream)
			r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{"tcp://" + l.Addr().String()}, nil), Limits: Limits{IdleTimeout: 4 * soon}})
			if got := tt.client(r.connect(t, l.Addr().String())); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if e := r.event(t); !strings.HasSuffix(e.Reason, tt.logs) || !e.Allowed {
				t.Errorf("event %+v, want %q", e, tt.logs)
			}
			waitFree(t, r)
		})
	}
}

func readString(conn net.Conn) string {
	got, _ := io.ReadAll(conn)
	return string(got)
}

// TestHalfClosedRequest ends its side before the answer is there, which means to
// net/http that it has gone. It must not be told that all went well.
func TestHalfClosedRequest(t *testing.T) {
	upstream := listen(t, func(conn net.Conn) { readHead(conn); io.Copy(io.Discard, conn) }).Addr().String()
	r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{upstream}, nil)})
	conn := r.dial(t)
	io.WriteString(conn, plainGet(upstream))
	conn.(*net.TCPConn).CloseWrite()
	if status, body, err := readFinal(conn); status != http.StatusBadGateway {
		t.Errorf("answer %d %q, %v", status, body, err)
	}
	if e := r.event(t); e.Reason != "the client went away" || e.Status != http.StatusBadGateway {
		t.Errorf("event %+v", e)
	}
}
