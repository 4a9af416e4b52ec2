package gate

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// hostAddrs are the addresses of this machine that other machines could use.
func hostAddrs(t testing.TB) (list []netip.Addr) {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().IsGlobalUnicast() {
			list = append(list, prefix.Addr())
		}
	}
	return list
}

// TestItselfByEveryName asks the gate for itself, where the rules name everything
// that may be named. There is one answer by every name: that a rule is right does
// not make a loop.
func TestItselfByEveryName(t *testing.T) {
	l, err := net.Listen("tcp", ":0") // on every address, and so on the host's own
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	allow := []string{"me.test", "127.0.0.0/8", "[::1]", "localhost", "*.localhost"}
	names := []string{
		"127.0.0.1", "127.1", "127.0.0.2", "0x7f000001", "0177.0.0.1", "2130706433", "localhost", "LOCALHOST.", "foo.localhost",
		"[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "me.test", "0.0.0.0", "0", "[::]", "[::ffff:0.0.0.0]",
	}
	for _, addr := range hostAddrs(t) {
		text := addr.String()
		if addr.Is6() {
			text = "[" + text + "]"
		}
		allow, names = append(allow, text), append(names, text)
	}
	for i, rule := range allow {
		allow[i] = fmt.Sprintf("%s:%d", rule, port)
	}
	zone := newZone(map[string][]string{"me.test": {"127.0.0.1"}})
	r := startRigOn(t, Config{Policy: mustPolicy(t, ModeAllowlist, allow, nil), Resolver: zone}, l)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			to := fmt.Sprintf("%s:%d", name, port)
			reason := "it is the gate itself"
			if h, err := parseHost(name); err == nil && h.addr.IsUnspecified() {
				reason = "no rule allows it" // no rule can
			}
			resp, body := r.sendTo(t, port, "CONNECT "+to+" HTTP/1.1\r\nHost: "+to+"\r\n\r\n")
			wantDenied(t, r, resp, body, reason)
			resp, body = r.sendTo(t, port, "GET http://"+to+"/health HTTP/1.1\r\nHost: "+to+"\r\n\r\n")
			wantDenied(t, r, resp, body, reason)
		})
	}
}

// sendTo is send for a proxy that listens on every address.
func (r *rig) sendTo(t testing.TB, port int, raw string) (*http.Response, string) {
	t.Helper()
	near := &rig{addr: fmt.Sprintf("127.0.0.1:%d", port)}
	return near.send(t, raw)
}

// TestHostByItsOwnAddress reaches for a service of the host by an address that
// may well be public. What a user serves on all addresses is behind a firewall as
// often as not; the host itself must be named, and a range does not name it.
func TestHostByItsOwnAddress(t *testing.T) {
	addrs := hostAddrs(t)
	if len(addrs) == 0 {
		t.Skip("this machine has no address beside loopback")
	}
	service, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	go func() {
		for conn, err := service.Accept(); err == nil; conn, err = service.Accept() {
			conn.Close()
		}
	}()
	own, port := addrs[0], service.Addr().(*net.TCPAddr).Port
	around, _ := own.Prefix(24)
	inRange := fmt.Sprintf("%s:%d", bracketed(around), port)
	named := target{host{addr: own}, port}
	tests := []struct {
		name  string
		mode  Mode
		allow []string
		to    string
		ok    bool
	}{
		{"by a name, where everything public is allowed", ModeAllowAll, []string{inRange}, "here.test", false},
		{"by its address, in a range that is allowed", ModeAllowlist, []string{inRange}, own.String(), false},
		{"by its address, which a rule names", ModeAllowlist, []string{"tcp://" + named.String()}, own.String(), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			zone := newZone(map[string][]string{"here.test": {own.String()}})
			r := startRig(t, Config{Policy: mustPolicy(t, tt.mode, tt.allow, nil), Resolver: zone})
			to := fmt.Sprintf("%s:%d", tt.to, port)
			if strings.Contains(tt.to, ":") {
				to = named.String()
			}
			if tt.ok {
				r.connect(t, to).Close()
				return
			}
			resp, body := r.send(t, "CONNECT "+to+" HTTP/1.1\r\n\r\n")
			wantDenied(t, r, resp, body, "is an address of the host itself")
			if !strings.Contains(body, "add --allow "+named.String()) {
				t.Errorf("body %q", body)
			}
		})
	}
}

func bracketed(p netip.Prefix) string {
	if p.Addr().Is6() {
		return "[" + p.String() + "]"
	}
	return p.String()
}

// TestTunnelIntoItself asks for the gate through a tunnel that is opened already.
func TestTunnelIntoItself(t *testing.T) {
	r, _, _ := plainRig(t, dump, "example.com")
	conn := r.connect(t, "example.com:80")
	io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: "+r.addr+"\r\n\r\n")
	status, body, err := readFinal(conn)
	if status != http.StatusBadRequest || err != nil || !strings.Contains(body, "the Host header differs from the tunnel's host") {
		t.Errorf("answer %d %q, %v", status, body, err)
	}
	r.event(t)
	if e := r.event(t); e.Allowed || e.Host != "example.com" || !strings.Contains(e.Reason, "Host header differs") {
		t.Errorf("event %+v", e)
	}
}
