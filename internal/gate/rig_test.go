package gate

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for what must come. It is no measure of
// anything: a test that passes does not use it up.
const patience = 10 * time.Second

// publicAddr is an address that the policy takes for public. Tests dial
// something on loopback in its place.
var publicAddr = netip.MustParseAddr("93.184.216.34")

// rig is a proxy on a real socket, with its events.
type rig struct {
	proxy  *Proxy
	addr   string
	events chan Event
	served chan error
}

// startRig serves c on loopback until the test ends.
func startRig(t testing.TB, c Config) *rig {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return startRigOn(t, c, l)
}

func startRigOn(t testing.TB, c Config, l net.Listener) *rig {
	t.Helper()
	r := &rig{addr: l.Addr().String(), events: make(chan Event, 1024), served: make(chan error, 1)}
	if c.Log == nil {
		c.Log = func(e Event) { r.events <- e }
	}
	r.proxy = New(c)
	go func() { r.served <- r.proxy.Serve(l) }()
	t.Cleanup(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		r.proxy.Shutdown(now)
	})
	return r
}

// event returns the next event.
func (r *rig) event(t testing.TB) Event {
	t.Helper()
	select {
	case e := <-r.events:
		return e
	case <-time.After(patience):
		t.Fatal("no event")
		return Event{}
	}
}

// dial opens a connection to the proxy.
func (r *rig) dial(t testing.TB) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return conn
}

// send writes raw bytes and returns the answer, its body read.
func (r *rig) send(t testing.TB, raw string) (*http.Response, string) {
	t.Helper()
	conn := r.dial(t)
	io.WriteString(conn, raw)
	return readResponse(t, bufio.NewReader(conn))
}

func readResponse(t testing.TB, from *bufio.Reader) (*http.Response, string) {
	t.Helper()
	resp, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatalf("reading the answer: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("reading the answer's body: %v", err)
	}
	return resp, string(body)
}

// connect opens a tunnel and wants it agreed to.
func (r *rig) connect(t testing.TB, to string) net.Conn {
	t.Helper()
	conn := r.dial(t)
	io.WriteString(conn, "CONNECT "+to+" HTTP/1.1\r\nHost: "+to+"\r\n\r\n")
	const want = "HTTP/1.1 200 Connection established\r\n\r\n"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Fatalf("CONNECT %s answered %q, %v", to, got, err)
	}
	return conn
}

// client is an HTTP client that goes through the proxy and trusts upstream.
func (r *rig) client(t testing.TB, upstream *httptest.Server) *http.Client {
	t.Helper()
	transport := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: r.addr})}
	if upstream != nil && upstream.Certificate() != nil {
		roots := x509.NewCertPool()
		roots.AddCert(upstream.Certificate())
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport:     transport,
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// wantDenied checks the answer and the event of a refusal by policy.
func wantDenied(t testing.TB, r *rig, resp *http.Response, body, reason string) {
	t.Helper()
	e := r.event(t)
	status := deniedStatus
	if e.Method == http.MethodConnect {
		status = deniedConnectStatus
	}
	if resp.StatusCode != status || !strings.Contains(resp.Header.Get(deniedHeader), reason) {
		t.Errorf("answer %s, %s %q; want %d with %q", resp.Status, deniedHeader, resp.Header.Get(deniedHeader), status, reason)
	}
	if !strings.HasPrefix(body, "ralph: ") || !strings.Contains(body, reason) {
		t.Errorf("body %q, want the reason %q", body, reason)
	}
	if e.Allowed || !strings.Contains(e.Reason, reason) || e.Status != status {
		t.Errorf("event %+v, want a denial with %q", e, reason)
	}
}

// echo is an upstream that sends back what it gets, until it gets the end.
func echo(t testing.TB) net.Listener {
	t.Helper()
	return listen(t, func(conn net.Conn) {
		io.Copy(conn, conn)
		conn.(*net.TCPConn).CloseWrite()
	})
}

// listen serves each connection with serve, and closes it then.
func listen(t testing.TB, serve func(net.Conn)) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(2 * patience))
				serve(conn)
			})
		}
	})
	t.Cleanup(func() { l.Close(); group.Wait() })
	return l
}

// zone is a resolver with answers of its own. Each question takes the next
// answer for the name; the last one stays.
type zone struct {
	mu      sync.Mutex
	answers map[string][][]netip.Addr
	asked   []string
}

func newZone(answers map[string][]string) *zone {
	z := &zone{answers: map[string][][]netip.Addr{}}
	for name, sequence := range answers {
		for _, answer := range sequence {
			var addrs []netip.Addr
			for _, text := range strings.Fields(answer) {
				addrs = append(addrs, netip.MustParseAddr(text))
			}
			z.answers[name] = append(z.answers[name], addrs)
		}
	}
	return z
}

func (z *zone) LookupNetIP(_ context.Context, _, name string) ([]netip.Addr, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.asked = append(z.asked, name)
	name = strings.TrimSuffix(name, ".")
	sequence := z.answers[name]
	if len(sequence) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	if len(sequence) > 1 {
		z.answers[name] = sequence[1:]
	}
	return sequence[0], nil
}

// questions returns what the resolver was asked.
func (z *zone) questions() []string {
	z.mu.Lock()
	defer z.mu.Unlock()
	return append([]string(nil), z.asked...)
}

// switchboard is a DialFunc that connects to one listener whatever it is asked
// for, and remembers what that was.
type switchboard struct {
	to    string
	mu    sync.Mutex
	calls []netip.AddrPort
}

func (s *switchboard) dial(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	s.mu.Lock()
	s.calls = append(s.calls, addr)
	s.mu.Unlock()
	var d net.Dialer
	return d.DialContext(ctx, "tcp", s.to)
}

func (s *switchboard) dialled() []netip.AddrPort {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]netip.AddrPort(nil), s.calls...)
}
