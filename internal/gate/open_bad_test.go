package gate

import (
	"bufio"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/secret"
)

// TestOpenedMalformed sends through an opened tunnel what a careful client never
// does. The upstream must see none of it, and the connection must end.
func TestOpenedMalformed(t *testing.T) {
	upstream := &seen{}
	r := startOpenRig(t, openOptions{handler: upstream.ServeHTTP, credentials: []Credential{bearer()}})
	const get = "GET / HTTP/1.1\r\nHost: example.com\r\n"
	const post = "POST / HTTP/1.1\r\nHost: example.com\r\n"
	for _, raw := range []string{
		"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: example.com:8443\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: example.com:80\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: user@example.com\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: \r\n\r\n",
		"GET / HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		get + "Host: example.com\r\n\r\n",
		get + "Host: example.org\r\n\r\n",
		"GET https://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"GET https://example.org/ HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"CONNECT example.org:443 HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"CONNECT /x HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"GET x HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"GET  / HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"G@T / HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		get + "\tX: folded\r\n\r\n",
		get + "X: a\r\n b\r\n\r\n",
		get + "X : a\r\n\r\n",
		get + "X: a\n\r\n",
		get + "X: a\rY: b\r\n\r\n",
		get + "X: a\x00b\r\n\r\n",
		get + "nocolon\r\n\r\n",
		post + "Content-Length: 4\r\nContent-Length: 4\r\n\r\nping",
		post + "Content-Length: 4\r\nContent-Length: 5\r\n\r\nping",
		post + "Content-Length: 4, 4\r\n\r\nping",
		post + "Content-Length: +4\r\n\r\nping",
		post + "Content-Length: 99999999999999999999\r\n\r\nping",
		post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		post + "Transfer-Encoding: chunked\r\nContent-length: 3\r\n\r\n0\r\n\r\n",
	} {
		t.Run(raw, func(t *testing.T) {
			conn := r.tunnel(t, "example.com:443")
			io.WriteString(conn, raw+"GET /smuggled HTTP/1.1\r\nHost: example.com\r\n\r\n")
			from := bufio.NewReader(conn)
			resp, body := readResponse(t, from)
			if resp.StatusCode != http.StatusBadRequest && resp.StatusCode != http.StatusNotImplemented && resp.StatusCode != http.StatusHTTPVersionNotSupported {
				t.Errorf("answer %s %q", resp.Status, body)
			}
			if rest, _ := io.ReadAll(from); len(rest) > 0 {
				t.Errorf("then came %q", rest)
			}
			if e := r.event(t); e.Allowed || e.Reason == "" || e.Host != "example.com" || e.Port != 443 {
				t.Errorf("event %+v", e)
			}
		})
	}
	if upstream.count() != 0 || len(r.board.dialled()) != 0 {
		t.Errorf("the upstream got %d requests", upstream.count())
	}
}

func TestOpenedTooManyHeaders(t *testing.T) {
	upstream := &seen{}
	r := startOpenRig(t, openOptions{handler: upstream.ServeHTTP, credentials: []Credential{bearer()}})
	resp, _ := r.raw(t, "GET / HTTP/1.1\r\nHost: example.com\r\n"+strings.Repeat("X-Many: a\r\n", 100_000)+"\r\n")
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge || upstream.count() != 0 {
		t.Errorf("answer %s", resp.Status)
	}
	if e := r.event(t); e.Allowed || e.Reason != "no valid request in time" || e.Host != "example.com" {
		t.Errorf("event %+v", e)
	}
}

// TestOpenedRefused are well-formed requests that never pass to a host with a
// credential.
func TestOpenedRefused(t *testing.T) {
	upstream := &seen{}
	phantom := secret.New("phantom-0123456789abcdef")
	r := startOpenRig(t, openOptions{handler: upstream.ServeHTTP, credentials: []Credential{bearer()}, config: func(c *Config) { c.Phantoms = []secret.Secret{phantom} }})
	for _, tt := range []struct{ raw, code, text string }{
		{"GET /ws HTTP/1.1\r\nHost: example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n\r\n", CodeUpgradeRefused, "WebSocket"},
		{"GET / HTTP/1.1\r\nHost: example.com\r\nConnection: keep-alive, upgrade\r\n\r\n", CodeUpgradeRefused, "Upgrade"},
		{"GET / HTTP/1.1\r\nHost: example.com\r\nUpgrade: h2c\r\n\r\n", CodeUpgradeRefused, "Upgrade"},
		{"TRACE / HTTP/1.1\r\nHost: example.com\r\n\r\n", CodeMethodRefused, "TRACE"},
		{"track / HTTP/1.1\r\nHost: example.com\r\n\r\n", CodeMethodRefused, "track"},
		{"GET /?a=b&access_token=mine HTTP/1.1\r\nHost: example.com\r\n\r\n", CodeCredentialInQuery, "access_token"},
		{"GET /?PRIVATE%5ftoken=mine HTTP/1.1\r\nHost: example.com\r\n\r\n", CodeCredentialInQuery, "private_token"},
		{"POST /?x;_method=DELETE HTTP/1.1\r\nHost: example.com\r\nContent-Length: 0\r\n\r\n", CodeCredentialInQuery, "_method"},
		{"GET / HTTP/1.1\r\nHost: example.com\r\nX-Any: phantom-0123456789abcdef\r\n\r\n", CodePhantomMisused, "placeholder"},
		{"GET / HTTP/1.1\r\nHost: example.com\r\nAuthorization: Basic eDpwaGFudG9tLTAxMjM0NTY3ODlhYmNkZWY=\r\n\r\n", CodePhantomMisused, "placeholder"},
		{"GET /phantom-0123456789abcdef HTTP/1.1\r\nHost: example.com\r\n\r\n", CodePhantomMisused, "placeholder"},
		{"GET /?q=phantom-0123456789abcdef HTTP/1.1\r\nHost: example.com\r\n\r\n", CodePhantomMisused, "placeholder"},
	} {
		resp, body := r.raw(t, tt.raw)
		if resp.StatusCode != 403 || !strings.Contains(resp.Header.Get(deniedHeader), tt.text) || !strings.Contains(body, tt.text) {
			t.Errorf("%q: answer %s %q", tt.raw, resp.Status, body)
		}
		if e := r.event(t); e.Allowed || e.Code != tt.code || e.Status != 403 {
			t.Errorf("%q: event %+v", tt.raw, e)
		}
	}
	if upstream.count() != 0 {
		t.Errorf("the upstream got %d requests", upstream.count())
	}
}

// TestPlainToBoundHost never sends a credential in the clear, and nothing else
// either: what was meant to be opened could be had without.
func TestPlainToBoundHost(t *testing.T) {
	upstream := &seen{}
	phantom := secret.New("phantom-0123456789abcdef")
	r := startOpenRig(t, openOptions{
		handler: upstream.ServeHTTP, credentials: []Credential{bearer()}, allow: []string{"example.com", "example.com:8080", "example.org"},
		config: func(c *Config) { c.Phantoms = []secret.Secret{phantom} },
	})
	for _, tt := range []struct{ url, header, code string }{
		{"http://example.com/", "", CodeCredentialInClear},
		{"http://example.com:8080/", "", CodeCredentialInClear},
		{"http://example.com:443/", "", CodeCredentialInClear},
		{"http://example.org/", "X: phantom-0123456789abcdef\r\n", CodePhantomMisused},
		{"http://example.org/?phantom-0123456789abcdef", "", CodePhantomMisused},
	} {
		host := strings.Split(tt.url, "/")[2]
		resp, body := r.send(t, "GET "+tt.url+" HTTP/1.1\r\nHost: "+host+"\r\n"+tt.header+"\r\n")
		if resp.StatusCode != 403 || resp.Header.Get(deniedHeader) == "" {
			t.Errorf("%s: answer %s %q", tt.url, resp.Status, body)
		}
		if e := r.event(t); e.Allowed || e.Code != tt.code {
			t.Errorf("%s: event %+v", tt.url, e)
		}
	}
	conn := r.connect(t, "example.com:80")
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n")
	if resp, body := readResponse(t, bufio.NewReader(conn)); resp.StatusCode != 403 {
		t.Errorf("plain HTTP in a tunnel: answer %s %q", resp.Status, body)
	}
	if len(r.names.questions()) > 1 || upstream.count() != 0 { // the tunnel alone was dialled
		t.Errorf("asked %q, the upstream got %d requests", r.names.questions(), upstream.count())
	}
}

// TestOpenedTunnelRefused are tunnels to a host with a credential that do not
// become one.
func TestOpenedTunnelRefused(t *testing.T) {
	r := startOpenRig(t, openOptions{handler: (&seen{}).ServeHTTP, credentials: []Credential{bearer()}})
	t.Run("another server name", func(t *testing.T) {
		conn := tls.Client(r.connect(t, "example.com:443"), &tls.Config{ServerName: "example.org", RootCAs: r.roots})
		if err := conn.Handshake(); err == nil || !strings.Contains(err.Error(), "unrecognized name") {
			t.Errorf("handshake error %v", err)
		}
		if e := r.event(t); e.Allowed || !strings.Contains(e.Reason, `the TLS server name is "example.org"`) {
			t.Errorf("event %+v", e)
		}
	})
	t.Run("no server name", func(t *testing.T) {
		conn := tls.Client(r.connect(t, "example.com:443"), &tls.Config{InsecureSkipVerify: true})
		if err := conn.Handshake(); err == nil {
			t.Error("the handshake went well")
		}
		if e := r.event(t); e.Allowed || !strings.Contains(e.Reason, "no server name") {
			t.Errorf("event %+v", e)
		}
	})
	t.Run("a hidden server name", func(t *testing.T) {
		conn := r.connect(t, "example.com:443")
		conn.Write(insertExtension(t, clientHello(t, "example.com"), extensionECH))
		if got, _ := io.ReadAll(conn); string(got) != alertUnrecognizedName {
			t.Errorf("got %q", got)
		}
		r.event(t)
	})
	t.Run("old TLS", func(t *testing.T) {
		conn := tls.Client(r.connect(t, "example.com:443"), &tls.Config{ServerName: "example.com", RootCAs: r.roots, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
		if err := conn.Handshake(); err == nil {
			t.Error("the handshake went well")
		}
		if e := r.event(t); !strings.Contains(e.Reason, "TLS with the client") || e.Code != "" {
			t.Errorf("event %+v", e)
		}
	})
	t.Run("a client that does not trust the gate", func(t *testing.T) {
		conn := tls.Client(r.connect(t, "example.com:443"), &tls.Config{ServerName: "example.com"})
		if err := conn.Handshake(); err == nil {
			t.Error("the handshake went well")
		}
		if e := r.event(t); e.Code != CodeAuthorityNotTrusted {
			t.Errorf("event %+v", e)
		}
	})
	t.Run("plain HTTP", func(t *testing.T) {
		conn := r.connect(t, "example.com:443")
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n")
		if resp, body := readResponse(t, bufio.NewReader(conn)); resp.StatusCode != 403 || !strings.Contains(body, "speak TLS") {
			t.Errorf("answer %s %q", resp.Status, body)
		}
		if e := r.event(t); e.Allowed {
			t.Errorf("event %+v", e)
		}
	})
	if got := r.board.dialled(); len(got) != 0 {
		t.Errorf("dialled %v", got)
	}
}

// TestOpenedDespiteTCPRule wants no way around by a rule that lets any bytes
// pass.
func TestOpenedDespiteTCPRule(t *testing.T) {
	upstream := &seen{}
	r := startOpenRig(t, openOptions{handler: upstream.ServeHTTP, credentials: []Credential{bearer(func(c *Credential) { c.Methods = []string{"GET"} })}, allow: []string{"tcp://example.com:443"}})
	if resp, _ := r.do(t, "POST", "https://example.com/", nil); resp.StatusCode != 403 {
		t.Errorf("answer %s", resp.Status)
	}
}

// TestOpenedSlow has clients that keep the gate waiting at each step.
func TestOpenedSlow(t *testing.T) {
	limits := func(c *Config) {
		c.Limits = Limits{HelloTimeout: soon, HeaderTimeout: soon, IdleTimeout: 2 * soon}
	}
	r := startOpenRig(t, openOptions{handler: (&seen{}).ServeHTTP, credentials: []Credential{bearer()}, config: limits})
	t.Run("no hello", func(t *testing.T) {
		wantClosed(t, r.connect(t, "example.com:443"))
		if e := r.event(t); e.Allowed || !strings.Contains(e.Reason, "no TLS ClientHello") {
			t.Errorf("event %+v", e)
		}
	})
	t.Run("half a handshake", func(t *testing.T) {
		conn := r.connect(t, "example.com:443")
		conn.Write(clientHello(t, "example.com"))
		if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
			t.Error("the connection is still open")
		}
		if e := r.event(t); !strings.Contains(e.Reason, "TLS with the client") {
			t.Errorf("event %+v", e)
		}
	})
	t.Run("half a head", func(t *testing.T) {
		conn := r.tunnel(t, "example.com:443")
		io.WriteString(conn, "GET / HTTP/1.1\r\n")
		if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
			t.Error("the connection is still open")
		}
		if e := r.event(t); e.Reason != "no valid request in time" || e.Host != "example.com" {
			t.Errorf("event %+v", e)
		}
	})
	t.Run("half a second head", func(t *testing.T) {
		conn := r.tunnel(t, "example.com:443")
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n")
		from := bufio.NewReader(conn)
		readResponse(t, from)
		r.event(t)
		io.WriteString(conn, "GET / HT")
		if _, err := io.Copy(io.Discard, from); isTimeout(err) {
			t.Error("the connection is still open")
		}
		if e := r.event(t); e.Reason != "no valid request in time" {
			t.Errorf("event %+v", e)
		}
	})
	t.Run("half a body", func(t *testing.T) {
		conn := r.tunnel(t, "example.com:443")
		io.WriteString(conn, "POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 10\r\n\r\nhalf")
		if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
			t.Error("the connection is still open")
		}
		if e := r.event(t); e.Reason == "allowed by rule" || e.BytesUp != 4 {
			t.Errorf("event %+v", e)
		}
	})
	t.Run("no second request", func(t *testing.T) {
		conn := r.tunnel(t, "example.com:443")
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n")
		if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
			t.Error("the connection is still open")
		}
		if e := r.event(t); e.Status != 200 {
			t.Errorf("event %+v", e)
		}
	})
}
