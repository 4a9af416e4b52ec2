package gate

import (
	"bufio"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// tlsRig is a proxy that allows example.com, which leads to a real TLS server.
func tlsRig(t testing.TB, allow ...string) (*rig, *httptest.Server, *zone, *switchboard) {
	t.Helper()
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "hello "+r.Host)
	}))
	upstream.Config.ErrorLog = log.New(io.Discard, "", 0) // refused tunnels are noise to it
	upstream.StartTLS()
	t.Cleanup(upstream.Close)
	names := newZone(map[string][]string{"example.com": {publicAddr.String()}, "example.org": {publicAddr.String()}})
	board := &switchboard{to: upstream.Listener.Addr().String()}
	r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, allow, nil), Resolver: names, Dial: board.dial})
	return r, upstream, names, board
}

func TestTunnelCarriesTLS(t *testing.T) {
	r, upstream, _, board := tlsRig(t, "example.com")
	client := r.client(t, upstream)
	resp, err := client.Get("https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	client.CloseIdleConnections()
	if string(body) != "hello example.com" {
		t.Errorf("body %q", body)
	}
	if got, want := board.dialled(), netip.AddrPortFrom(publicAddr, 443); len(got) != 1 || got[0] != want {
		t.Errorf("dialled %v, want %v alone", got, want)
	}
	e := r.event(t)
	if !e.Allowed || e.Method != "CONNECT" || e.Host != "example.com" || e.Port != 443 || e.Rule != "example.com" || e.Addr != "93.184.216.34:443" {
		t.Errorf("event %+v", e)
	}
	if e.BytesUp < 100 || e.BytesDown < 100 || e.Duration <= 0 || e.Time.IsZero() || e.Status != 200 {
		t.Errorf("event %+v, want bytes both ways and times", e)
	}
}

func TestTunnelToLoopbackThatIsNamed(t *testing.T) {
	upstream := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "mine") }))
	defer upstream.Close()
	r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{upstream.Listener.Addr().String()}, nil)})
	resp, err := r.client(t, upstream).Get(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); string(body) != "mine" {
		t.Errorf("body %q", body)
	}
}

// TestLocalhostThatIsNamed reaches a server that listens on one family alone.
func TestLocalhostThatIsNamed(t *testing.T) {
	_, port, _ := net.SplitHostPort(echo(t).Addr().String())
	names := newZone(nil)
	r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{"tcp://localhost:" + port}, nil), Resolver: names})
	conn := r.connect(t, "localhost:"+port)
	io.WriteString(conn, "ping")
	conn.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(conn); string(got) != "ping" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if asked := names.questions(); len(asked) != 0 {
		t.Errorf("asked a resolver for %q", asked)
	}
}

// TestConnectDenied wants the refusal before the name is asked of anyone.
func TestConnectDenied(t *testing.T) {
	r, _, names, board := tlsRig(t, "example.com")
	for _, tt := range []struct{ to, reason, fix string }{
		{"evil.test:443", "no rule allows it", "add --allow evil.test"},
		{"c2VjcmV0.evil.test:443", "no rule allows it", "add --allow c2vjcmv0.evil.test"},
		{"example.com:22", "no rule allows it", "add --allow example.com:22"},
		{"www.example.com:443", "no rule allows it", "add --allow www.example.com"},
		{"127.0.0.1:443", "no rule allows it", "add --allow 127.0.0.1:443"},
		{"[::1]:443", "no rule allows it", "add --allow [::1]:443"},
		{"[::ffff:10.0.0.1]:443", "no rule allows it", "add --allow 10.0.0.1"},
		{"0x7f.1:443", "no rule allows it", "add --allow 127.0.0.1:443"},
		{"169.254.169.254:80", "no rule allows it", "add --allow 169.254.169.254"},
	} {
		t.Run(tt.to, func(t *testing.T) {
			resp, body := r.send(t, "CONNECT "+tt.to+" HTTP/1.1\r\nHost: "+tt.to+"\r\n\r\n")
			wantDenied(t, r, resp, body, tt.reason)
			if !strings.HasSuffix(body, "; "+tt.fix+"\n") {
				t.Errorf("body %q, want the advice %q", body, tt.fix)
			}
		})
	}
	if asked, dialled := names.questions(), board.dialled(); len(asked)+len(dialled) != 0 {
		t.Errorf("asked for %q, dialled %v", asked, dialled)
	}
}

func TestConnectDeniedBody(t *testing.T) {
	r, _, _, _ := tlsRig(t)
	_, body := r.send(t, "CONNECT example.com:443 HTTP/1.1\r\n\r\n")
	if want := "ralph: example.com:443 is not allowed: no rule allows it; add --allow example.com\n"; body != want {
		t.Errorf("body %q, want %q", body, want)
	}
}

// TestConnectMalformed wants a 400, or a denial for what is well-formed, and no
// tunnel in any case.
func TestConnectMalformed(t *testing.T) {
	r, _, names, board := tlsRig(t, "example.com", "tcp://example.com:22")
	for _, raw := range []string{
		"CONNECT example.com HTTP/1.1\r\n\r\n",
		"CONNECT example.com: HTTP/1.1\r\n\r\n",
		"CONNECT example.com:0 HTTP/1.1\r\n\r\n",
		"CONNECT example.com:99999 HTTP/1.1\r\n\r\n",
		"CONNECT example.com:0443 HTTP/1.1\r\n\r\n",
		"CONNECT example.com:443:443 HTTP/1.1\r\n\r\n",
		"CONNECT :443 HTTP/1.1\r\n\r\n",
		"CONNECT  example.com:443 HTTP/1.1\r\n\r\n",
		"CONNECT example.com:443  HTTP/1.1\r\n\r\n",
		"CONNECT user@example.com:443 HTTP/1.1\r\n\r\n",
		"CONNECT user:pw@example.com:443 HTTP/1.1\r\n\r\n",
		"CONNECT evil.test@example.com:443 HTTP/1.1\r\n\r\n",
		"CONNECT http://example.com:443 HTTP/1.1\r\n\r\n",
		"CONNECT /example.com:443 HTTP/1.1\r\n\r\n",
		"CONNECT example.com:443/ HTTP/1.1\r\n\r\n",
		"CONNECT example.com:443?x HTTP/1.1\r\n\r\n",
		"CONNECT exam%70le.com:443 HTTP/1.1\r\n\r\n",
		"CONNECT [::1:443 HTTP/1.1\r\n\r\n",
		"CONNECT [fe80::1%25eth0]:443 HTTP/1.1\r\n\r\n",
		"CONNECT example.com:443\r\n\r\n",
		"CONNECT example.com:443 HTTP/9.9\r\n\r\n",
		"CONNECT example.com:443 HTTP/1.1\n\n",
		"CONNECT example.com:443 HTTP/1.1\r\nX: a\r\n b\r\n\r\n",
		"CONNECT example.com:443 HTTP/1.1\r\nX : a\r\n\r\n",
		"CONNECT example.com:443 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
		"CONNECT example.com:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"CONNECT example.com:443 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
		"\x16\x03\x01\x00\x05hello\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		t.Run(raw, func(t *testing.T) {
			resp, body := r.send(t, raw)
			if resp.StatusCode < 400 || resp.StatusCode == 407 || resp.StatusCode == 502 && resp.Header.Get(deniedHeader) == "" {
				t.Errorf("answer %s %q", resp.Status, body)
			}
			if e := r.event(t); e.Allowed || e.Reason == "" {
				t.Errorf("event %+v", e)
			}
		})
	}
	if asked, dialled := names.questions(), board.dialled(); len(asked)+len(dialled) != 0 {
		t.Errorf("asked for %q, dialled %v", asked, dialled)
	}
}

func TestConnectResolvedAddresses(t *testing.T) {
	names := map[string][]string{
		"public.test":    {"93.184.216.34"},
		"private.test":   {"10.0.0.1"},
		"loopback.test":  {"127.0.0.1"},
		"mapped.test":    {"::ffff:127.0.0.1"},
		"metadata.test":  {"169.254.169.254"},
		"mixed.test":     {"93.184.216.34 2606:4700::1111 192.168.0.1"},
		"nat64.test":     {"64:ff9b::a00:1"},
		"zero.test":      {"0.0.0.0"},
		"corp.test":      {"10.20.0.7"},
		"forbidden.test": {"8.8.8.8"},
	}
	policy := mustPolicy(t, ModeAllowlist, []string{"*.test", "10.20.0.0/16"}, []string{"8.8.8.8"})
	for _, tt := range []struct{ host, reason string }{
		{"public.test", ""},
		{"corp.test", ""},
		{"private.test", "10.0.0.1 is a private address"},
		{"loopback.test", "127.0.0.1 is a loopback address"},
		{"mapped.test", "127.0.0.1 is a loopback address"},
		{"metadata.test", "169.254.169.254 is a cloud metadata address"},
		{"mixed.test", "192.168.0.1 is a private address"},
		{"nat64.test", "carries an IPv4 address"},
		{"zero.test", "0.0.0.0 is an unspecified address"},
		{"forbidden.test", "denied by rule 8.8.8.8"},
	} {
		t.Run(tt.host, func(t *testing.T) {
			board := &switchboard{to: echo(t).Addr().String()}
			r := startRig(t, Config{Policy: policy, Resolver: newZone(names), Dial: board.dial})
			resp, body := r.send(t, "CONNECT "+tt.host+":443 HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n")
			if tt.reason == "" {
				if resp.StatusCode != 200 || len(board.dialled()) != 1 {
					t.Errorf("answer %s %q", resp.Status, body)
				}
				return
			}
			wantDenied(t, r, resp, body, tt.reason)
			if got := board.dialled(); len(got) != 0 {
				t.Errorf("dialled %v", got)
			}
		})
	}
}

// TestRebinding has a name that leads outside first and inside then. The first
// tunnel goes to the address that was vetted, with one question asked; the
// second is refused.
func TestRebinding(t *testing.T) {
	names := newZone(map[string][]string{"rebind.test": {"93.184.216.34", "127.0.0.1"}})
	board := &switchboard{to: echo(t).Addr().String()}
	r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{"tcp://rebind.test:443"}, nil), Resolver: names, Dial: board.dial})

	r.connect(t, "rebind.test:443").Close()
	if e := r.event(t); e.Addr != "93.184.216.34:443" {
		t.Errorf("event %+v", e)
	}
	if asked := names.questions(); len(asked) != 1 || asked[0] != "rebind.test." {
		t.Errorf("asked for %q, want the absolute name once", asked)
	}
	resp, body := r.send(t, "CONNECT rebind.test:443 HTTP/1.1\r\n\r\n")
	wantDenied(t, r, resp, body, "127.0.0.1 is a loopback address")
	if got := board.dialled(); len(got) != 1 {
		t.Errorf("dialled %v, want the first alone", got)
	}
}

// TestServerName opens tunnels to example.com and wants only its own TLS name
// to pass.
func TestServerName(t *testing.T) {
	for _, tt := range []struct{ name, to, serverName, reason string }{
		{"same", "example.com:443", "example.com", ""},
		{"same in another case", "EXAMPLE.com.:443", "Example.Com", ""},
		{"another", "example.com:443", "evil.test", `the TLS server name is "evil.test"`},
		{"another allowed one", "example.com:443", "example.org", `the TLS server name is "example.org"`},
		{"below", "example.com:443", "www.example.com", "the TLS server name is"},
		{"none", "example.com:443", "", "the ClientHello has no server name"},
		{"none for an address", "93.184.216.34:443", "", ""},
		{"one for an address", "93.184.216.34:443", "example.com", "for an address"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, _, _, _ := tlsRig(t, "example.com", "example.org", "93.184.216.34")
			conn := tls.Client(r.connect(t, tt.to), &tls.Config{ServerName: tt.serverName, InsecureSkipVerify: true})
			err := conn.Handshake()
			if tt.reason == "" {
				if err != nil {
					t.Errorf("handshake: %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), "unrecognized name") {
				t.Errorf("handshake error %v, want the alert", err)
			}
			if e := r.event(t); e.Allowed || !strings.Contains(e.Reason, tt.reason) || e.BytesUp != 0 {
				t.Errorf("event %+v, want a denial with %q", e, tt.reason)
			}
		})
	}
}

// TestHiddenServerName refuses a hello that carries a second, encrypted one.
func TestHiddenServerName(t *testing.T) {
	r, _, _, _ := tlsRig(t, "example.com")
	hello := insertExtension(t, clientHello(t, "example.com"), extensionECH)
	conn := r.connect(t, "example.com:443")
	conn.Write(hello)
	if got, _ := io.ReadAll(conn); string(got) != alertUnrecognizedName {
		t.Errorf("got %q, want the alert", got)
	}
	if e := r.event(t); e.Allowed || !strings.Contains(e.Reason, "hides its server name") {
		t.Errorf("event %+v", e)
	}
}

// TestTunnelWithoutTLS sends other bytes where TLS is wanted.
func TestTunnelWithoutTLS(t *testing.T) {
	for _, tt := range []struct {
		name, bytes string
		text        string // what the client reads
	}{
		{"http on 443", "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", "add --allow tcp://example.com:443"},
		{"ssh", "ssh-2.0-x\r\n", ""},
		{"a broken hello", "\x16\x03\x01\x00\x05hello", alertUnrecognizedName},
		{"a huge hello", "\x16\x03\x01\x40\x00\x01\x00\xff\xff" + strings.Repeat("x", 64<<10), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, _, _, _ := tlsRig(t, "example.com")
			conn := r.connect(t, "example.com:443")
			go io.WriteString(conn, tt.bytes)
			got, _ := io.ReadAll(conn)
			if !strings.Contains(string(got), tt.text) {
				t.Errorf("got %q, want %q", got, tt.text)
			}
			if e := r.event(t); e.Allowed || e.BytesUp != 0 || e.Rule != "example.com" || !strings.Contains(e.Reason, "TLS") {
				t.Errorf("event %+v, want a denial", e)
			}
		})
	}
}

// TestTunnelTCP lets any bytes pass under a tcp rule, the server's first too.
func TestTunnelTCP(t *testing.T) {
	l := listen(t, func(conn net.Conn) {
		io.WriteString(conn, "220 welcome\r\n")
		io.Copy(conn, conn)
	})
	r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{"tcp://" + l.Addr().String()}, nil)})
	conn := r.connect(t, l.Addr().String())
	if line, err := bufio.NewReader(io.LimitReader(conn, 13)).ReadString('\n'); line != "220 welcome\r\n" {
		t.Fatalf("greeting %q, %v", line, err)
	}
	io.WriteString(conn, "bye")
	conn.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(conn); string(got) != "bye" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if e := r.event(t); !e.Allowed || e.BytesUp != 3 || e.BytesDown != 16 {
		t.Errorf("event %+v, want 3 bytes up and 16 down", e)
	}
}

// TestEarlyBytes sends the first bytes together with the CONNECT.
func TestEarlyBytes(t *testing.T) {
	l := echo(t)
	r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{"tcp://" + l.Addr().String()}, nil)})
	conn := r.dial(t)
	io.WriteString(conn, "CONNECT "+l.Addr().String()+" HTTP/1.1\r\n\r\nearly")
	const want = "HTTP/1.1 200 Connection established\r\n\r\nearly"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestIPv6Literal(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 loopback here:", err)
	}
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "six") }))
	upstream.Listener.Close()
	upstream.Listener = l
	upstream.StartTLS()
	defer upstream.Close()
	r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{l.Addr().String()}, nil)})
	resp, err := r.client(t, upstream).Get(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); string(body) != "six" {
		t.Errorf("body %q", body)
	}
}

// TestConnectToItself refuses to go round in circles, even when the rules say so.
func TestConnectToItself(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	r := startRigOn(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{"127.0.0.1:" + port, "localhost:" + port}, nil)}, l)
	for _, name := range []string{"127.0.0.1", "localhost"} {
		resp, body := r.send(t, "CONNECT "+name+":"+port+" HTTP/1.1\r\n\r\n")
		wantDenied(t, r, resp, body, "it is the gate itself")
	}
}
