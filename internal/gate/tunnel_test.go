package gate

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// fastConn is a connection with copying of its own, as an engine's may have.
type fastConn struct {
	*net.TCPConn
	wroteTo, readFrom *atomic.Int32
}

func (c *fastConn) WriteTo(w io.Writer) (int64, error) {
	c.wroteTo.Add(1)
	return io.Copy(w, struct{ io.Reader }{c.TCPConn})
}

func (c *fastConn) ReadFrom(r io.Reader) (int64, error) {
	c.readFrom.Add(1)
	return io.Copy(struct{ io.Writer }{c.TCPConn}, r)
}

type fastListener struct {
	net.Listener
	wroteTo, readFrom atomic.Int32
}

func (l *fastListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &fastConn{conn.(*net.TCPConn), &l.wroteTo, &l.readFrom}, nil
}

// TestTunnelUsesFastCopies wants a tunnel to leave copying to the connections.
func TestTunnelUsesFastCopies(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &fastListener{Listener: inner}
	upstream := echo(t)
	r := startRigOn(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{"tcp://" + upstream.Addr().String()}, nil)}, l)
	conn := r.connect(t, upstream.Addr().String())
	io.WriteString(conn, "ping")
	conn.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(conn); string(got) != "ping" || err != nil {
		t.Fatalf("got %q, %v", got, err)
	}
	if up, down := l.wroteTo.Load(), l.readFrom.Load(); up == 0 || down == 0 {
		t.Errorf("WriteTo was called %d times, ReadFrom %d", up, down)
	}
}

// TestTunnelHalfClose lets one direction end and the other go on.
func TestTunnelHalfClose(t *testing.T) {
	l := listen(t, func(conn net.Conn) {
		got, _ := io.ReadAll(conn)
		io.WriteString(conn, "got "+string(got))
	})
	r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{"tcp://" + l.Addr().String()}, nil)})
	conn := r.connect(t, l.Addr().String())
	io.WriteString(conn, "all")
	conn.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(conn); string(got) != "got all" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestTunnelWithoutHalfClose closes a client that cannot be told of the end in
// any other way.
func TestTunnelWithoutHalfClose(t *testing.T) {
	l := listen(t, func(conn net.Conn) { io.WriteString(conn, "bye") })
	pipes := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	r := startRigOn(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{"tcp://" + l.Addr().String()}, nil)}, pipes)
	conn, far := net.Pipe()
	defer conn.Close()
	pipes.conns <- far
	go io.WriteString(conn, "CONNECT "+l.Addr().String()+" HTTP/1.1\r\n\r\n")
	got, err := io.ReadAll(conn)
	if want := "HTTP/1.1 200 Connection established\r\n\r\nbye"; string(got) != want || err != nil {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if e := r.event(t); e.BytesDown != 3 {
		t.Errorf("event %+v", e)
	}
}

// TestTunnelUpstreamDies closes the client when the upstream is reset.
func TestTunnelUpstreamDies(t *testing.T) {
	l := listen(t, func(conn net.Conn) {
		io.ReadFull(conn, make([]byte, 4))
		conn.(*net.TCPConn).SetLinger(0)
	})
	r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{"tcp://" + l.Addr().String()}, nil)})
	conn := r.connect(t, l.Addr().String())
	io.WriteString(conn, "ping")
	if _, err := io.ReadAll(conn); isTimeout(err) {
		t.Error("the connection is still open")
	}
	r.event(t)
}

// pipeTunnel is a tunnel between two pipes, of which it returns the far ends.
func pipeTunnel(idle time.Duration) (tun *tunnel, client, upstream net.Conn) {
	client, clientEnd := net.Pipe()
	upstreamEnd, upstream := net.Pipe()
	return &tunnel{client: clientEnd, upstream: upstreamEnd, idle: idle}, client, upstream
}

// TestTunnelIdle keeps time exactly, with a clock of its own.
func TestTunnelIdle(t *testing.T) {
	const idle = time.Minute
	tests := []struct {
		name   string
		client func(net.Conn)
		server func(net.Conn)
		least  time.Duration // how long the tunnel lasts, or up to a quarter of idle more
		reason string
		down   int64
	}{
		{"nothing passes", readAll, readAll, idle, "closed: idle", 0},
		{"a byte passes in the nick of time, 100 times", readAll, func(conn net.Conn) {
			for range 100 {
				time.Sleep(idle * 9 / 10)
				conn.Write([]byte{'.'})
			}
			conn.Close()
		}, 90 * idle, "", 100},
		{"the client does not read", func(net.Conn) {}, func(conn net.Conn) {
			conn.Write(make([]byte, 1<<20))
		}, idle, "closed: idle", 0},
		{"a byte, then nothing", readAll, func(conn net.Conn) {
			time.Sleep(idle / 2)
			conn.Write([]byte{'.'})
		}, idle * 3 / 2, "closed: idle", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tun, client, upstream := pipeTunnel(idle)
				var group sync.WaitGroup
				defer group.Wait()
				group.Go(func() { tt.client(client) })
				group.Go(func() { tt.server(upstream) })
				start := time.Now()
				_, down, reason := tun.run(nil)
				if reason != tt.reason || down != tt.down {
					t.Errorf("%d bytes down, reason %q; want %d, %q", down, reason, tt.down, tt.reason)
				}
				if took := time.Since(start); took < tt.least || took > tt.least+idle/4 {
					t.Errorf("lasted %v, want %v", took, tt.least)
				}
			})
		})
	}
}

func readAll(conn net.Conn) { io.Copy(io.Discard, conn) }
