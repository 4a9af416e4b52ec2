package gate

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestKeepAlive serves many requests on one connection, each with its own event
// and its own choice.
func TestKeepAlive(t *testing.T) {
	upstream := &seen{}
	r := startOpenRig(t, openOptions{handler: upstream.ServeHTTP, credentials: []Credential{bearer(func(c *Credential) { c.Paths = []string{"/yes"} })}})
	conn := r.tunnel(t, "example.com:443")
	if got := conn.ConnectionState(); got.NegotiatedProtocol != "http/1.1" || got.Version < tls.VersionTLS12 {
		t.Errorf("negotiated %q, version %x", got.NegotiatedProtocol, got.Version)
	}
	from := bufio.NewReader(conn)
	for i, request := range []string{
		"GET /yes HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"POST /yes HTTP/1.1\r\nHost: example.com:443\r\nContent-Length: 5\r\n\r\nhello",
		"GET /no HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"POST /yes HTTP/1.1\r\nHost: EXAMPLE.com\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nA: b\r\n\r\n",
		"PUT /no HTTP/1.1\r\nHost: example.com\r\nContent-Length: 5\r\n\r\nhello",
		"GET /yes HTTP/1.1\r\nHost: example.com\r\n\r\n",
	} {
		want := 200
		if strings.Contains(request, "/no") {
			want = 403
		}
		io.WriteString(conn, request)
		if resp, body := readResponse(t, from); resp.StatusCode != want || resp.Close {
			t.Errorf("request %d: answer %s %q", i, resp.Status, body)
		}
		if e := r.event(t); e.Status != want || e.Method == "CONNECT" || e.Allowed != (want == 200) {
			t.Errorf("request %d: event %+v", i, e)
		}
	}
	if upstream.count() != 4 || len(r.board.dialled()) != 1 {
		t.Errorf("the upstream got %d requests on %d connections", upstream.count(), len(r.board.dialled()))
	}
}

// TestPipelining answers requests that were sent together, in order.
func TestPipelining(t *testing.T) {
	r := startOpenRig(t, openOptions{credentials: []Credential{bearer()}, handler: func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.URL.Path)
	}})
	conn := r.tunnel(t, "example.com:443")
	var all strings.Builder
	for i := range 20 {
		fmt.Fprintf(&all, "POST /%d HTTP/1.1\r\nHost: example.com\r\nContent-Length: 3\r\n\r\nabc", i)
	}
	io.WriteString(conn, all.String())
	from := bufio.NewReader(conn)
	for i := range 20 {
		if resp, body := readResponse(t, from); resp.StatusCode != 200 || body != fmt.Sprintf("/%d", i) {
			t.Fatalf("answer %d: %s %q", i, resp.Status, body)
		}
	}
}

// TestOpenedStreams passes both directions on as they come.
func TestOpenedStreams(t *testing.T) {
	for _, http1 := range []bool{false, true} {
		got, read := make(chan string), make(chan struct{})
		r := startOpenRig(t, openOptions{credentials: []Credential{bearer()}, http1: http1, handler: func(w http.ResponseWriter, r *http.Request) {
			first := make([]byte, 5)
			io.ReadFull(r.Body, first)
			got <- string(first)
			io.Copy(io.Discard, r.Body)
			io.WriteString(w, "first")
			w.(http.Flusher).Flush()
			<-read
			io.WriteString(w, "rest")
		}})
		body, feed := io.Pipe()
		go func() {
			io.WriteString(feed, "first")
			if first := <-got; first != "first" { // before the rest was sent
				t.Errorf("the upstream got %q", first)
			}
			feed.Close()
		}()
		req, _ := http.NewRequest("POST", "https://example.com/", body)
		resp, err := r.httpClient(t).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		first := make([]byte, 5)
		if _, err := io.ReadFull(resp.Body, first); string(first) != "first" {
			t.Errorf("first %q, %v", first, err)
		}
		close(read)
		if rest, err := io.ReadAll(resp.Body); string(rest) != "rest" || err != nil {
			t.Errorf("rest %q, %v", rest, err)
		}
		resp.Body.Close()
	}
}

// TestOpenedResponse wants nothing back by which the client could be known, or
// go around the gate, and no upstream that poses as the gate.
func TestOpenedResponse(t *testing.T) {
	r := startOpenRig(t, openOptions{credentials: []Credential{bearer()}, handler: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</x>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Set-Cookie", "session=yours")
		w.Header().Set("Alt-Svc", `h3=":443"`)
		w.Header().Set(deniedHeader, "not really")
		w.Header().Set("X-Kept", "yes")
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "body")
		w.(http.Flusher).Flush()
		w.Header().Set("X-Sum", "1")
	}})
	resp, body := r.do(t, "GET", "https://example.com/", nil)
	if body != "body" || resp.Header.Get("X-Kept") != "yes" || resp.Trailer.Get("X-Sum") != "1" {
		t.Errorf("answer %v %q %v", resp.Header, body, resp.Trailer)
	}
	for _, gone := range []string{"Set-Cookie", "Alt-Svc", deniedHeader} {
		if resp.Header.Get(gone) != "" {
			t.Errorf("client saw %s", gone)
		}
	}
	if e := r.inner(t); e.Status != 200 {
		t.Errorf("event %+v", e)
	}
}

// TestOpenedRedirect passes a redirect on. Where it leads is decided anew, and
// without the credential.
func TestOpenedRedirect(t *testing.T) {
	upstream := &seen{answer: func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	}}
	r := startOpenRig(t, openOptions{handler: upstream.ServeHTTP, credentials: []Credential{bearer()}, allow: []string{"example.com", "inside.test"}})
	for _, to := range []string{"https://10.0.0.1/", "https://inside.test/", "https://evil.test/", "http://example.com/"} {
		resp, _ := r.do(t, "GET", "https://example.com/?to="+to, nil)
		if resp.StatusCode != 302 || resp.Header.Get("Location") != to {
			t.Errorf("answer %s to %s", resp.Status, resp.Header.Get("Location"))
		}
		r.inner(t)
		follow, err := r.httpClient(t).Get(to)
		if err == nil {
			follow.Body.Close()
			if follow.StatusCode != 403 {
				t.Errorf("%s: answer %s", to, follow.Status)
			}
		}
		if e := r.event(t); e.Allowed {
			t.Errorf("%s: event %+v", to, e)
		}
	}
	if upstream.count() != 4 {
		t.Errorf("the upstream got %d requests", upstream.count())
	}
}

// TestOpenedClientLeaves ends the upstream's request when the client is gone.
func TestOpenedClientLeaves(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	r := startOpenRig(t, openOptions{credentials: []Credential{bearer()}, handler: func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(ended)
	}})
	conn := r.tunnel(t, "example.com:443")
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n")
	<-begun
	conn.Close()
	<-ended
	if e := r.event(t); e.Reason != "the client went away" {
		t.Errorf("event %+v", e)
	}
}

// TestOpenedShutdown waits for a request on an opened connection, and closes the
// connection then though it could be kept.
func TestOpenedShutdown(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	r := startOpenRig(t, openOptions{credentials: []Credential{bearer()}, handler: func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(begun)
			<-goOn
		}
		io.WriteString(w, "done")
	}})
	idle := r.tunnel(t, "example.com:443")
	io.WriteString(idle, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n")
	readResponse(t, bufio.NewReader(idle))
	r.event(t)
	conn := r.tunnel(t, "example.com:443")
	io.WriteString(conn, "GET /slow HTTP/1.1\r\nHost: example.com\r\n\r\n")
	<-begun
	shut := make(chan error, 1)
	go func() { shut <- r.proxy.Shutdown(context.Background()) }()
	<-r.served
	close(goOn)
	if resp, body := readResponse(t, bufio.NewReader(conn)); resp.StatusCode != 200 || body != "done" {
		t.Errorf("answer %s %q", resp.Status, body)
	}
	if err := <-shut; err != nil {
		t.Errorf("Shutdown returned %v", err)
	}
	if _, err := io.ReadAll(idle); isTimeout(err) {
		t.Error("an idle connection is still open")
	}
	if e := r.event(t); e.Status != 200 {
		t.Errorf("event %+v", e)
	}
}

// BenchmarkOpened is a request through an opened tunnel: on a connection that is
// kept, and with a handshake of its own.
func BenchmarkOpened(b *testing.B) {
	upstream := &seen{answer: func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "fine") }}
	r := startOpenRig(b, openOptions{handler: upstream.ServeHTTP, credentials: []Credential{bearer()}, config: func(c *Config) { c.Log = func(Event) {} }})
	get := func(client *http.Client) {
		resp, err := client.Get("https://example.com/")
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	client := r.httpClient(b)
	b.Run("kept", func(b *testing.B) {
		for b.Loop() {
			get(client)
		}
	})
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			get(client)
			client.CloseIdleConnections()
		}
	})
}
