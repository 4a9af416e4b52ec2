package gate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// FuzzParseRule wants a rule that was read to be written so that it is read
// again as the same rule.
func FuzzParseRule(f *testing.F) {
	for _, seed := range []string{
		"example.com", "*.example.com:443", "tcp://a.b:1", "10.0.0.0/8:80", "[2001:db8::/32]:80", "::ffff:10.0.0.0/104", "0x7f.1", "*", "bücher.example", "@npm", "[::1", "a:b:c", "1/2",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rule, err := ParseRule(text)
		if err != nil {
			return
		}
		again, err := ParseRule(rule.String())
		if err != nil || again != rule {
			t.Errorf("ParseRule(%q) = %+v, read back %+v, %v", text, rule, again, err)
		}
	})
}

// FuzzParseHost wants normalisation to be done in one step, and its result to
// be one that every resolver reads alike.
func FuzzParseHost(f *testing.F) {
	for _, seed := range []string{
		"example.com", "EXAMPLE.com.", "bücher.example", "xn--bcher-kva.example", "１２７.１", "0x7f.1", "017700000001", "[::ffff:127.0.0.1]", "::1%eth0", "a..b", "ß.example", "a\u200db.example", "1.2.3.4.5", "xn--a", "example。com",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, err := parseHost(text)
		if err != nil {
			return
		}
		second, err := parseHost(first.String())
		if err != nil || second != first {
			t.Errorf("parseHost(%q) = %+v, again %+v, %v", text, first, second, err)
		}
		if first.addr.IsValid() == (first.name != "") {
			t.Errorf("parseHost(%q) = %+v, want a name or an address", text, first)
		}
		if _, err := netip.ParseAddr(first.name); err == nil {
			t.Errorf("parseHost(%q) took an address for the name %q", text, first.name)
		}
		if strings.Trim(first.name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
			t.Errorf("parseHost(%q) let %q through", text, first.name)
		}
	})
}

// FuzzDecide checks the policy against a second, simpler reading of its rules.
func FuzzDecide(f *testing.F) {
	policy, err := NewPolicy(ModeAllowlist, []string{"example.com", "*.example.org:8443", "8.8.8.0/24", "127.0.0.1:8080"}, []string{"evil.example.org", "8.8.8.8"})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"example.com", "EXAMPLE.COM.", "a.example.org", "evil.example.org", "8.8.8.8", "8.8.2057", "[::ffff:8.8.8.9]", "0x7f.1", "127.0.0.1", "example.com\x00", "example.com.evil.test", "x@example.com"} {
		for _, port := range []int{80, 443, 8443, 8080, 0, -1, 65536 + 443} {
			f.Add(seed, port)
		}
	}
	f.Fuzz(func(t *testing.T, name string, port int) {
		got := policy.Decide(name, port)
		if got.Reason == "" || got.Allowed && got.Rule == "" {
			t.Errorf("Decide(%q, %d) = %+v says not why", name, port, got)
		}
		if got.Allowed && !expected(name, port) {
			t.Errorf("Decide(%q, %d) = %+v", name, port, got)
		}
	})
}

// expected is what FuzzDecide's policy may allow at most.
func expected(name string, port int) bool {
	h, err := parseHost(name)
	if err != nil {
		return false
	}
	web := port == 80 || port == 443
	switch s := h.String(); {
	case s == "example.com":
		return web
	case s == "evil.example.org", s == "8.8.8.8":
		return false
	case strings.HasSuffix(s, ".example.org"):
		return port == 8443
	case strings.HasPrefix(s, "8.8.8."):
		return web
	case s == "127.0.0.1":
		return port == 8080
	}
	return false
}

// FuzzReadOpening wants every byte back, whatever the client sent.
func FuzzReadOpening(f *testing.F) {
	hello := clientHello(f, "example.com")
	f.Add(hello, 32<<10)
	f.Add(insertExtension(f, hello, extensionECH), 32<<10)
	f.Add(clientHello(f, ""), 200)
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), 100)
	f.Add([]byte("\x16\x03\x01\x00\x05hello"), 6)
	f.Fuzz(func(t *testing.T, data []byte, most int) {
		most = max(1, min(most, 64<<10))
		r := bytes.NewReader(data)
		got, err := readOpening(r, most)
		rest, _ := io.ReadAll(r)
		if len(got.bytes) > most {
			t.Errorf("read %d bytes of %d", len(got.bytes), most)
		}
		if err == nil && !bytes.Equal(append(bytes.Clone(got.bytes), rest...), data) {
			t.Errorf("bytes were lost: %d and %d of %d", len(got.bytes), len(rest), len(data))
		}
		if got.objection(target{host{name: "example.com"}, 443}) == "" && !strings.EqualFold(strings.TrimSuffix(got.serverName, "."), "example.com") {
			t.Errorf("server name %q passed", got.serverName)
		}
	})
}

// FuzzCheckHead wants a head that passes to be read by net/http as having the
// same Host, if it can read it at all.
func FuzzCheckHead(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\nHost: a", "GET / HTTP/1.1\r\nHost: a\r\nHost: b", "GET / HTTP/1.1\r\nHost : a", "GET / HTTP/1.1\r\nX: y\r\n Host: a",
		"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked", "GET / HTTP/1.1\nHost: a", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = append(data, endOfHead...) // else few get any further
		head, err := checkHead(data)
		if err != nil {
			return
		}
		req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(data)))
		if err == nil && req.URL.Host == "" && req.Host != head.host {
			t.Errorf("checkHead saw Host %q, net/http %q", head.host, req.Host)
		}
	})
}

// FuzzProxy sends raw bytes to a whole proxy and wants nothing out of it but
// what its one rule allows.
func FuzzProxy(f *testing.F) {
	for _, seed := range []string{
		"CONNECT example.com:443 HTTP/1.1\r\n\r\n", "CONNECT evil.test:443 HTTP/1.1\r\n\r\n", "CONNECT example.com:443@evil.test:443 HTTP/1.1\r\n\r\n",
		"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", "GET http://evil.test/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"CONNECT [::1]:443 HTTP/1.1\r\n\r\n", "CONNECT 0x7f.1:443 HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", "\x16\x03\x01\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	var out escapes
	pipes := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	policy := mustPolicy(f, ModeAllowlist, []string{"example.com"}, nil)
	startRigOn(f, Config{Policy: policy, Resolver: &out, Dial: out.dial, Log: out.event}, pipes)
	f.Fuzz(func(t *testing.T, data []byte) {
		conn, far := net.Pipe()
		pipes.conns <- far
		conn.SetDeadline(time.Now().Add(patience))
		go func() {
			conn.Write(data)
			io.WriteString(conn, "\r\n\r\n") // so that every head has an end
		}()
		answer, _ := bufio.NewReader(conn).ReadString('\n')
		conn.Close()
		if answer != "" && !strings.HasPrefix(answer, "HTTP/1.") {
			t.Errorf("answer %q", answer)
		}
		if what := out.seen.Load(); what != nil {
			t.Error(*what)
		}
	})
}

// escapes is a resolver and a dialer that remember what FuzzProxy's rule does
// not allow.
type escapes struct{ seen atomic.Pointer[string] }

func (e *escapes) found(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	e.seen.Store(&text)
}

func (e *escapes) LookupNetIP(_ context.Context, _, name string) ([]netip.Addr, error) {
	if name != "example.com." {
		e.found("asked for %q", name)
	}
	return []netip.Addr{publicAddr}, nil
}

func (e *escapes) dial(_ context.Context, addr netip.AddrPort) (net.Conn, error) {
	if addr.Addr() != publicAddr || addr.Port() != 80 && addr.Port() != 443 {
		e.found("dialled %s", addr)
	}
	return nil, errors.New("not in this test")
}

func (e *escapes) event(got Event) {
	if got.Allowed && got.Reason != "health" && got.Host != "example.com" {
		e.found("allowed %+v", got)
	}
}

// pipeListener accepts connections that are made in memory.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { close(l.closed); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }
