package gate

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/agent-loop/ralph/internal/secret"
)

// theSecret is what no client of these tests may ever see.
const theSecret = "ghp_Zm9vYmFyYmF6cXV4+/0123456789"

func fixedSource(text string) func(context.Context) (secret.Secret, error) {
	return func(context.Context) (secret.Secret, error) { return secret.New(text), nil }
}

// bearer is a credential for example.com.
func bearer(change ...func(*Credential)) Credential {
	c := Credential{Name: "token", Hosts: []string{"example.com"}, Header: "Authorization", Format: "Bearer {}", Source: fixedSource(theSecret)}
	for _, f := range change {
		f(&c)
	}
	return c
}

// openRig is a proxy with credentials, in front of one TLS server that is every
// host there is.
type openRig struct {
	*rig
	names    *zone
	board    *switchboard
	upstream *httptest.Server
	roots    *x509.CertPool // what a client in the sandbox trusts: the gate alone
}

type openOptions struct {
	handler     http.HandlerFunc
	credentials []Credential
	allow       []string // example.com and example.org if empty
	config      func(*Config)
	http1       bool // the upstream's only protocol
}

func startOpenRig(t testing.TB, o openOptions) *openRig {
	t.Helper()
	upstream := httptest.NewUnstartedServer(o.handler)
	upstream.EnableHTTP2 = !o.http1
	upstream.Config.ErrorLog = log.New(io.Discard, "", 0)
	upstream.StartTLS()
	t.Cleanup(upstream.Close)
	return startOpenRigOn(t, o, upstream, upstream.Listener.Addr().String())
}

func startOpenRigOn(t testing.TB, o openOptions, upstream *httptest.Server, to string) *openRig {
	t.Helper()
	if len(o.allow) == 0 {
		o.allow = []string{"example.com", "example.org"}
	}
	credentials, err := NewCredentials(mustPolicy(t, ModeAllowlist, o.allow, nil), o.credentials)
	if err != nil {
		t.Fatal(err)
	}
	public := []string{publicAddr.String()}
	r := &openRig{
		names:    newZone(map[string][]string{"example.com": public, "api.example.com": public, "example.org": public, "inside.test": {"10.0.0.1"}}),
		board:    &switchboard{to: to},
		upstream: upstream,
		roots:    x509.NewCertPool(),
	}
	r.roots.AppendCertsFromPEM(credentials.Certificate())
	config := Config{Run: "r1", Credentials: credentials, Resolver: r.names, Dial: r.board.dial}
	if upstream != nil {
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AddCert(upstream.Certificate())
	}
	if o.config != nil {
		o.config(&config)
	}
	r.rig = startRig(t, config)
	return r
}

// httpClient is a client as in a sandbox: it goes through the gate and trusts
// nobody else.
func (r *openRig) httpClient(t testing.TB) *http.Client {
	t.Helper()
	transport := &http.Transport{
		Proxy:              http.ProxyURL(&url.URL{Scheme: "http", Host: r.addr}),
		TLSClientConfig:    &tls.Config{RootCAs: r.roots},
		DisableCompression: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport:     transport,
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// do sends a request and returns the answer with its body read.
func (r *openRig) do(t testing.TB, method, to string, header map[string]string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, to, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		req.Header[name] = []string{value}
	}
	resp, err := r.httpClient(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// tunnel is an opened connection to host, for raw requests. Its CONNECT is no
// longer among the events.
func (r *openRig) tunnel(t testing.TB, to string) *tls.Conn {
	t.Helper()
	name, _, _ := net.SplitHostPort(to)
	conn := tls.Client(r.connect(t, to), &tls.Config{ServerName: name, RootCAs: r.roots, NextProtos: []string{"h2", "http/1.1"}})
	if err := conn.Handshake(); err != nil {
		t.Fatalf("handshake: %v", err)
	}
	if e := r.event(t); e.Method != http.MethodConnect || !strings.HasPrefix(e.Reason, "opened:") {
		t.Errorf("event of the CONNECT: %+v", e)
	}
	return conn
}

// raw sends bytes through a tunnel to example.com and returns the answer.
func (r *openRig) raw(t testing.TB, text string) (*http.Response, string) {
	t.Helper()
	conn := r.tunnel(t, "example.com:443")
	go io.WriteString(conn, text) // the gate may answer before it has read all
	return readResponse(t, bufio.NewReader(conn))
}

// inner returns the event of the next request that is not a CONNECT.
func (r *openRig) inner(t testing.TB) Event {
	t.Helper()
	for {
		if e := r.event(t); e.Method != http.MethodConnect {
			return e
		}
	}
}

// seen is an upstream that remembers the requests it got.
type seen struct {
	mu       sync.Mutex
	requests []*http.Request
	answer   http.HandlerFunc
}

func (s *seen) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	if s.answer != nil {
		s.answer(w, r)
		return
	}
	io.Copy(io.Discard, r.Body)
	io.WriteString(w, "fine")
}

func (s *seen) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

func (s *seen) last(t testing.TB) *http.Request {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.requests) == 0 {
		t.Fatal("the upstream got no request")
	}
	return s.requests[len(s.requests)-1]
}
