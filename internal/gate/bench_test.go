package gate

import (
	"io"
	"net"
	"testing"
)

func BenchmarkDecide(b *testing.B) {
	policy := mustPolicy(b, ModeAllowlist, append(Presets(), "example.com", "*.example.org"), []string{"evil.test"})
	for b.Loop() {
		policy.Decide("www.Example.org", 443)
	}
}

// BenchmarkTunnelDownload is the throughput of one tunnel on loopback.
func BenchmarkTunnelDownload(b *testing.B) {
	l := listen(b, flood)
	r := startRig(b, Config{Policy: mustPolicy(b, ModeAllowlist, []string{"tcp://" + l.Addr().String()}, nil)})
	drain(b, r.connect(b, l.Addr().String()))
}

// BenchmarkDirectDownload is the same without a proxy, to compare.
func BenchmarkDirectDownload(b *testing.B) {
	conn, err := net.Dial("tcp", listen(b, flood).Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	drain(b, conn)
}

func flood(conn net.Conn) {
	piece := make([]byte, 256<<10)
	for _, err := conn.Write(piece); err == nil; _, err = conn.Write(piece) {
	}
}

func drain(b *testing.B, conn net.Conn) {
	piece := make([]byte, 1<<20)
	b.SetBytes(int64(len(piece)))
	for b.Loop() {
		if _, err := io.ReadFull(conn, piece); err != nil {
			b.Fatal(err)
		}
	}
	conn.Close()
}

// BenchmarkConnect is a whole tunnel: dial, CONNECT, one byte each way, close.
func BenchmarkConnect(b *testing.B) {
	l := echo(b)
	r := startRig(b, Config{Policy: mustPolicy(b, ModeAllowlist, []string{"tcp://" + l.Addr().String()}, nil), Log: func(Event) {}})
	one := make([]byte, 1)
	for b.Loop() {
		conn := r.connect(b, l.Addr().String())
		conn.Write(one)
		io.ReadFull(conn, one)
		conn.(*net.TCPConn).SetLinger(0) // keep no port busy afterwards
		conn.Close()
	}
}

// BenchmarkConnectDenied is one decision by way of HTTP.
func BenchmarkConnectDenied(b *testing.B) {
	r := startRig(b, Config{Policy: mustPolicy(b, ModeAllowlist, nil, nil), Log: func(Event) {}})
	for b.Loop() {
		conn, err := net.Dial("tcp", r.addr)
		if err != nil {
			b.Fatal(err)
		}
		io.WriteString(conn, "CONNECT example.com:443 HTTP/1.1\r\n\r\n")
		io.Copy(io.Discard, conn)
		conn.Close()
	}
}
