package gate

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// plainConfig allows what is given and leads every name of the zone to a plain
// HTTP server, which runs handler.
func plainConfig(t testing.TB, handler http.HandlerFunc, allow ...string) (Config, *zone, *switchboard) {
	t.Helper()
	upstream := httptest.NewServer(handler)
	t.Cleanup(upstream.Close)
	names := newZone(map[string][]string{"example.com": {publicAddr.String()}, "example.org": {publicAddr.String()}, "inside.test": {"10.0.0.1"}})
	board := &switchboard{to: upstream.Listener.Addr().String()}
	return Config{Policy: mustPolicy(t, ModeAllowlist, allow, nil), Resolver: names, Dial: board.dial}, names, board
}

// plainRig is a proxy with that configuration.
func plainRig(t testing.TB, handler http.HandlerFunc, allow ...string) (*rig, *zone, *switchboard) {
	t.Helper()
	config, names, board := plainConfig(t, handler, allow...)
	return startRig(t, config), names, board
}

// dump answers with the request as the upstream saw it.
func dump(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s\nhost=%s\nbody=%s\n", r.Method, r.RequestURI, r.Host, body)
	r.Header.Write(w)
}

func TestForward(t *testing.T) {
	r, _, board := plainRig(t, dump, "example.com")
	resp, body := r.send(t, "POST http://EXAMPLE.com./a%2Fb//c/../d?x=1;y=%zz&z HTTP/1.1\r\nHost: example.com\r\nContent-Length: 4\r\n\r\nping")
	if resp.StatusCode != 200 {
		t.Fatalf("answer %s %q", resp.Status, body)
	}
	for _, want := range []string{"POST /a%2Fb//c/../d?x=1;y=%zz&z\n", "host=example.com\n", "body=ping\n"} {
		if !strings.Contains(body, want) {
			t.Errorf("upstream saw %q, want %q", body, want)
		}
	}
	if got := board.dialled(); len(got) != 1 || got[0].String() != "93.184.216.34:80" {
		t.Errorf("dialled %v", got)
	}
	e := r.event(t)
	if !e.Allowed || e.Method != "POST" || e.Host != "example.com" || e.Port != 80 || e.Rule != "example.com" || e.Status != 200 || e.Addr == "" {
		t.Errorf("event %+v", e)
	}
	if e.BytesUp != 4 || e.BytesDown != int64(len(body)) {
		t.Errorf("event %+v, want 4 bytes up and %d down", e, len(body))
	}
}

func TestForwardToPort(t *testing.T) {
	r, _, board := plainRig(t, dump, "example.com:8080")
	_, body := r.send(t, "GET http://example.com:8080/ HTTP/1.1\r\nHost: example.com:8080\r\n\r\n")
	if !strings.Contains(body, "host=example.com:8080\n") || board.dialled()[0].Port() != 8080 {
		t.Errorf("upstream saw %q at %v", body, board.dialled())
	}
}

// TestForwardStripsHopHeaders wants nothing upstream that was meant for the
// proxy, or that could change what the connection is.
func TestForwardStripsHopHeaders(t *testing.T) {
	r, _, _ := plainRig(t, dump, "example.com")
	_, body := r.send(t, strings.Join([]string{
		"GET http://example.com/ HTTP/1.1", "Host: example.com", "Connection: keep-alive, X-Secret-Hop, Upgrade", "X-Secret-Hop: 1",
		"Keep-Alive: 5", "Proxy-Connection: keep-alive", "Proxy-Authorization: Basic cGhhbnRvbQ==", "Proxy-Anything: 1",
		"Upgrade: websocket", "Te: gzip", "Trailer: X", "X-Kept: yes", "", "",
	}, "\r\n"))
	for _, gone := range []string{"Secret", "Keep-Alive", "Proxy-", "Upgrade", "Te:", "Trailer", "User-Agent", "Forwarded"} {
		if strings.Contains(body, gone) {
			t.Errorf("upstream saw %s:\n%s", gone, body)
		}
	}
	if !strings.Contains(body, "X-Kept: yes") {
		t.Errorf("upstream saw\n%s\nwithout X-Kept", body)
	}
}

// TestForwardStripsResponse wants no hop header back, and no upstream that poses
// as the gate.
func TestForwardStripsResponse(t *testing.T) {
	r, _, _ := plainRig(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(deniedHeader, "not really")
		w.Header().Set("Proxy-Authenticate", "Basic")
		w.Header().Set("Keep-Alive", "5")
		w.WriteHeader(http.StatusTeapot)
	}, "example.com")
	resp, _ := r.send(t, "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n")
	if resp.StatusCode != http.StatusTeapot {
		t.Errorf("answer %s", resp.Status)
	}
	for _, gone := range []string{deniedHeader, "Proxy-Authenticate", "Keep-Alive"} {
		if got := resp.Header.Get(gone); got != "" {
			t.Errorf("client saw %s: %s", gone, got)
		}
	}
}

func TestForwardDenied(t *testing.T) {
	r, names, board := plainRig(t, dump, "example.com", "inside.test")
	resp, body := r.send(t, "GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n")
	wantDenied(t, r, resp, body, "no rule allows it")
	if asked := names.questions(); len(asked) != 0 {
		t.Errorf("asked for %q", asked)
	}
	resp, body = r.send(t, "GET http://inside.test/ HTTP/1.1\r\nHost: inside.test\r\n\r\n")
	wantDenied(t, r, resp, body, "10.0.0.1 is a private address")
	if got := board.dialled(); len(got) != 0 {
		t.Errorf("dialled %v", got)
	}
}

// TestForwardRedirect passes a redirect on and does not go there itself.
func TestForwardRedirect(t *testing.T) {
	r, names, _ := plainRig(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest/", http.StatusFound)
	}, "example.com")
	resp, _ := r.send(t, "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n")
	if resp.StatusCode != http.StatusFound || resp.Header.Get("Location") != "http://169.254.169.254/latest/" {
		t.Errorf("answer %s to %s", resp.Status, resp.Header.Get("Location"))
	}
	if asked := names.questions(); len(asked) != 1 {
		t.Errorf("asked for %q", asked)
	}
	r.event(t)
	resp, body := r.send(t, "GET http://169.254.169.254/latest/ HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n")
	wantDenied(t, r, resp, body, "no rule allows it")
}

// TestForwardMalformed sends what a careful client never does. All but the last
// few are shapes that two parsers read as two different requests.
func TestForwardMalformed(t *testing.T) {
	r, names, board := plainRig(t, dump, "example.com", "example.org")
	const get = "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n"
	const post = "POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\n"
	for _, raw := range []string{
		"GET http://example.com/ HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"GET http://example.com/ HTTP/1.1\r\nHost: example.com:8080\r\n\r\n",
		"GET http://example.com/ HTTP/1.1\r\nHost: \r\n\r\n",
		"GET http://example.com/ HTTP/1.1\r\n\r\n",
		get + "Host: example.com\r\n\r\n",
		get + "Host: example.org\r\n\r\n",
		get + "hOST : example.org\r\n\r\n",
		get + "\tX: folded\r\n\r\n",
		get + "X: a\n\r\n",
		get + "X: a\rY: b\r\n\r\n",
		get + "X: a\x00b\r\n\r\n",
		get + ": nameless\r\n\r\n",
		get + "nocolon\r\n\r\n",
		strings.ReplaceAll(get, "\r\n", "\n") + "\n",
		post + "Content-Length: 4\r\nContent-Length: 4\r\n\r\nping",
		post + "Content-Length: 4\r\nContent-Length: 5\r\n\r\nping",
		post + "Content-Length: 4, 4\r\n\r\nping",
		post + "Content-Length: +4\r\n\r\nping",
		post + "Content-Length: -1\r\n\r\nping",
		post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
		post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"GET  http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"GET http://example.com/ x HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"GET http://user@example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"GET http://user:pw@example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"GET http://example.org@example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"GET http:///path HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"GET http://exa%6dple.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"GET https://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"GET ftp://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"GET file:///etc/passwd HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"G@T http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
	} {
		t.Run(raw, func(t *testing.T) {
			resp, body := r.send(t, raw)
			if resp.StatusCode != http.StatusBadRequest && resp.StatusCode != http.StatusNotImplemented {
				t.Errorf("answer %s %q", resp.Status, body)
			}
			if e := r.event(t); e.Allowed || e.Reason == "" {
				t.Errorf("event %+v", e)
			}
		})
	}
	resp, _ := r.send(t, get+strings.Repeat("X-Many: a\r\n", 100_000)+"\r\n")
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("100,000 headers: answer %s", resp.Status)
	}
	if asked, dialled := names.questions(), board.dialled(); len(asked)+len(dialled) != 0 {
		t.Errorf("asked for %q, dialled %v", asked, dialled)
	}
}

// TestOneRequestPerConnection answers the first of two requests that come
// together, and closes.
func TestOneRequestPerConnection(t *testing.T) {
	r, _, board := plainRig(t, dump, "example.com")
	conn := r.dial(t)
	io.WriteString(conn, strings.Repeat("GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", 2))
	all, _ := io.ReadAll(conn)
	if got := strings.Count(string(all), "HTTP/1.1 200"); got != 1 {
		t.Errorf("%d answers, want 1", got)
	}
	if got := len(board.dialled()); got != 1 {
		t.Errorf("dialled %d times", got)
	}
}

// TestForwardUpstreamFails names what went wrong without describing the host's
// network.
func TestForwardUpstreamFails(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	mute := listen(t, func(conn net.Conn) { bufio.NewReader(conn).ReadString('\n') })
	tests := []struct {
		name, url, text string
	}{
		{"no such name", "http://nowhere.test/", "the name could not be resolved"},
		{"nobody listens", "http://" + nobody.Addr().String() + "/", "the connection could not be opened"},
		{"closed at once", "http://" + mute.Addr().String() + "/", "the upstream failed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			policy := mustPolicy(t, ModeAllowlist, []string{"nowhere.test", nobody.Addr().String(), mute.Addr().String()}, nil)
			r := startRig(t, Config{Policy: policy, Resolver: newZone(nil)})
			where := strings.TrimSuffix(strings.TrimPrefix(tt.url, "http://"), "/")
			resp, body := r.send(t, "GET "+tt.url+" HTTP/1.1\r\nHost: "+where+"\r\n\r\n")
			if resp.StatusCode != http.StatusBadGateway || !strings.Contains(body, tt.text) || resp.Header.Get(deniedHeader) != "" {
				t.Errorf("answer %s %q", resp.Status, body)
			}
			if strings.Contains(body, "dial tcp") || strings.Contains(body, "lookup") {
				t.Errorf("body %q tells too much", body)
			}
			if e := r.event(t); !e.Allowed || e.Status != http.StatusBadGateway || e.Reason == "allowed by rule" {
				t.Errorf("event %+v", e)
			}
		})
	}
}

// TestForwardCutShort lets the client see that a response is not complete.
func TestForwardCutShort(t *testing.T) {
	r, _, _ := plainRig(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}, "example.com")
	conn := r.dial(t)
	io.WriteString(conn, "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("read %q without an error", body)
	}
	if e := r.event(t); e.Reason != "the response was cut short" || e.BytesDown != 4 {
		t.Errorf("event %+v", e)
	}
}

// TestForwardSwitch refuses an upstream that turns the connection into a tunnel.
func TestForwardSwitch(t *testing.T) {
	const upgrade = "Connection: Upgrade\r\nUpgrade: raw\r\n"
	for _, tt := range []struct{ asked, given string }{{"", ""}, {"", upgrade}, {upgrade, upgrade}} {
		l := listen(t, func(conn net.Conn) {
			http.ReadRequest(bufio.NewReader(conn))
			io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n"+tt.given+"\r\nraw")
		})
		r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{l.Addr().String()}, nil)})
		resp, body := r.send(t, fmt.Sprintf("GET http://%[1]s/ HTTP/1.1\r\nHost: %[1]s\r\n%[2]s\r\n", l.Addr(), tt.asked))
		if resp.StatusCode != http.StatusBadGateway {
			t.Errorf("asked %q, given %q: answer %s %q", tt.asked, tt.given, resp.Status, body)
		}
	}
}

// TestForwardStreams reads the first part of a response before the upstream has
// written the second.
func TestForwardStreams(t *testing.T) {
	read := make(chan struct{})
	r, _, _ := plainRig(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		<-read
		io.WriteString(w, "data: 2\n\n")
	}, "example.com")
	resp, err := r.client(t, nil).Get("http://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 9)
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "data: 1\n\n" {
		t.Fatalf("first %q, %v", first, err)
	}
	close(read)
	if rest, err := io.ReadAll(resp.Body); err != nil || string(rest) != "data: 2\n\n" {
		t.Errorf("rest %q, %v", rest, err)
	}
}

// TestPlainHTTPInTunnel opens a tunnel on port 80, as some clients do for plain
// HTTP, and holds it to the rules of plain HTTP.
func TestPlainHTTPInTunnel(t *testing.T) {
	tests := []struct {
		name, request string
		status        int
	}{
		{"its own host", "GET /x HTTP/1.1\r\nHost: example.com\r\n\r\n", 200},
		{"with the port", "GET /x HTTP/1.1\r\nHost: EXAMPLE.com:80\r\n\r\n", 200},
		{"another host", "GET /x HTTP/1.1\r\nHost: example.org\r\n\r\n", 400},
		{"absolute", "GET http://example.com/x HTTP/1.1\r\nHost: example.com\r\n\r\n", 400},
		{"absolute elsewhere", "GET http://example.org/x HTTP/1.1\r\nHost: example.org\r\n\r\n", 400},
		{"a tunnel in a tunnel", "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n", 400},
		{"two lengths", "POST /x HTTP/1.1\r\nHost: example.com\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, _, _ := plainRig(t, dump, "example.com", "example.org")
			conn := r.connect(t, "example.com:80")
			io.WriteString(conn, tt.request)
			resp, body := readResponse(t, bufio.NewReader(conn))
			if resp.StatusCode != tt.status {
				t.Fatalf("answer %s %q, want %d", resp.Status, body, tt.status)
			}
			if tt.status == 200 && !strings.Contains(body, "GET /x\nhost=example.com\n") {
				t.Errorf("upstream saw %q", body)
			}
			if e := r.event(t); e.Method != "CONNECT" || !strings.Contains(e.Reason, "plain HTTP") {
				t.Errorf("first event %+v", e)
			}
			if e := r.event(t); e.Method == "" || e.Host != "example.com" || e.Port != 80 || e.Status != tt.status {
				t.Errorf("second event %+v", e)
			}
		})
	}
}

func TestHealth(t *testing.T) {
	r := startRig(t, Config{})
	if resp, body := r.send(t, "GET /health HTTP/1.1\r\nHost: gate\r\n\r\n"); resp.StatusCode != 200 || body != "ok\n" {
		t.Errorf("answer %s %q", resp.Status, body)
	}
}

func TestPassword(t *testing.T) {
	l := echo(t)
	r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{"tcp://" + l.Addr().String()}, nil), Password: "open sesame"})
	tests := []struct {
		name, header string
		status       int
	}{
		{"none", "", 407},
		{"wrong", "Proxy-Authorization: Basic cmFscGg6d3Jvbmc=\r\n", 407}, // ralph:wrong
		{"a prefix", "Proxy-Authorization: Basic cmFscGg6b3Blbg==\r\n", 407},
		{"another scheme", "Proxy-Authorization: Bearer open sesame\r\n", 407},
		{"another header", "Authorization: Basic cmFscGg6b3BlbiBzZXNhbWU=\r\n", 407},
		{"right", "Proxy-Authorization: Basic cmFscGg6b3BlbiBzZXNhbWU=\r\n", 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			conn := r.dial(t)
			fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\n%s\r\n", l.Addr(), tt.header)
			resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: "CONNECT"})
			if err != nil || resp.StatusCode != tt.status {
				t.Fatalf("answer %v, %v; want %d", resp, err, tt.status)
			}
			if tt.status == 407 && resp.Header.Get("Proxy-Authenticate") == "" {
				t.Error("no Proxy-Authenticate")
			}
		})
	}
}
