package gate

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// badUpstream is what a hostile or broken upstream does to a plain request.
type badUpstream struct {
	name   string
	answer func(net.Conn) // after the head of the request was read
	status int            // what the client is answered; 0: nothing whole
	logs   string
}

// forever writes text until the other end has had enough.
func forever(conn net.Conn, text string) {
	piece := strings.Repeat(text, 1+4096/len(text))
	for _, err := io.WriteString(conn, piece); err == nil; _, err = io.WriteString(conn, piece) {
	}
}

func says(text string) func(net.Conn) {
	return func(conn net.Conn) { io.WriteString(conn, text) }
}

func badUpstreams() []badUpstream {
	const ok, chunked = "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	return []badUpstream{
		{"dies before the head", func(net.Conn) {}, 502, "EOF"},
		{"resets before the head", func(conn net.Conn) { conn.(*net.TCPConn).SetLinger(0) }, 502, "connection reset"},
		{"dies in the head", says(ok + "Content-Le"), 502, "malformed"},
		{"dies in the body", says(ok + "Content-Length: 10\r\n\r\nhalf"), 0, "the response was cut short"},
		{"resets in the body", func(conn net.Conn) {
			io.WriteString(conn, ok+"Content-Length: 10\r\n\r\nhalf")
			conn.(*net.TCPConn).SetLinger(0)
		}, 0, ""}, // by then the half may or may not have been read
		{"dies in a chunk", says(chunked + "5\r\nhal"), 0, "the response was cut short"},
		{"says a few things early", says(strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 3) + ok + "Content-Length: 0\r\n\r\n"), 200, "allowed by rule"},
		{"floods with early hints", func(conn net.Conn) { forever(conn, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n") }, 502, "too many informational responses"},
		{"floods with continues", func(conn net.Conn) { forever(conn, "HTTP/1.1 100 Continue\r\n\r\n") }, 502, ""},
		{"has endless headers", func(conn net.Conn) { io.WriteString(conn, ok); forever(conn, "X: y\r\n") }, 502, "exceeded"},
		{"has one endless header", func(conn net.Conn) { io.WriteString(conn, ok+"X: "); forever(conn, "y") }, 502, "exceeded"},
		{"has an endless status line", func(conn net.Conn) { forever(conn, "H") }, 502, "exceeded"},
		{"has an endless chunk extension", func(conn net.Conn) { io.WriteString(conn, chunked+"1;"); forever(conn, "x") }, 0, "the response was cut short"},
		{"has a huge extension on each chunk", func(conn net.Conn) {
			io.WriteString(conn, chunked)
			forever(conn, "1;"+strings.Repeat("x", 2000)+"\r\na\r\n")
		}, 0, "the response was cut short"},
		{"has endless trailers", func(conn net.Conn) { io.WriteString(conn, chunked+"1\r\na\r\n0\r\n"); forever(conn, "X: y\r\n") }, 0, "the response was cut short"},
		{"has a chunk of 2^64 bytes", says(chunked + "10000000000000000\r\na"), 0, "the response was cut short"},
		{"has a negative length", says(ok + "Content-Length: -1\r\n\r\nx"), 502, "Content-Length"},
		{"has two lengths", says(ok + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx"), 502, "Content-Length"},
		{"splits a header with a bare CR", says(ok + "X: a\rSet-Cookie: b\r\nContent-Length: 0\r\n\r\n"), 502, "malformed"},
		{"folds a header", says(ok + "X: a\r\n b\r\nContent-Length: 0\r\n\r\n"), 200, "allowed by rule"}, // and it is unfolded
		{"has a header without a name", says(ok + ": a\r\nContent-Length: 0\r\n\r\n"), 502, "malformed"},
		{"speaks another protocol", says("220 smtp.example.com ESMTP\r\n"), 502, "malformed"},
		{"speaks HTTP/2", says("\x00\x00\x00\x04\x00\x00\x00\x00\x00"), 502, "malformed"},
		{"has a status of its own", says("HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n"), 999, "allowed by rule"},
	}
}

// TestBadUpstreams wants a plain word to the client, the whole story in the
// event, and the slot back.
func TestBadUpstreams(t *testing.T) {
	for _, tt := range badUpstreams() {
		t.Run(tt.name, func(t *testing.T) {
			upstream := listen(t, func(conn net.Conn) { readHead(conn); tt.answer(conn) }).Addr().String()
			r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{upstream}, nil)})
			conn := r.dial(t)
			io.WriteString(conn, plainGet(upstream))
			status, body, err := readFinal(conn)
			switch {
			case tt.status == 0 && err == nil:
				t.Errorf("answer %d %q reads as whole", status, body)
			case tt.status != 0 && status != tt.status:
				t.Errorf("answer %d %q, %v; want %d", status, body, err, tt.status)
			case tt.status == 502 && !strings.Contains(body, upstream+": the upstream failed"):
				t.Errorf("body %q", body)
			}
			if e := r.event(t); !strings.Contains(e.Reason, tt.logs) || !e.Allowed || tt.status != 0 && e.Status != tt.status {
				t.Errorf("event %+v, want %q", e, tt.logs)
			}
			waitFree(t, r)
		})
	}
}

// readFinal reads the answer that counts, after the informational ones.
func readFinal(conn net.Conn) (status int, body string, err error) {
	buffered := bufio.NewReader(conn)
	for {
		resp, err := http.ReadResponse(buffered, nil)
		if err != nil {
			return 0, "", err
		}
		if resp.StatusCode < 200 {
			continue
		}
		all, err := io.ReadAll(resp.Body)
		return resp.StatusCode, string(all), err
	}
}

// TestUpstreamTrailers passes trailers on that were announced, and none that
// pose as the gate.
func TestUpstreamTrailers(t *testing.T) {
	r, _, _ := plainRig(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		io.WriteString(w, "body")
		w.Header().Set("X-Sum", "42")
	}, "example.com")
	resp, body := r.send(t, "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n")
	if body != "body" || resp.Trailer.Get("X-Sum") != "42" {
		t.Errorf("body %q, trailer %v", body, resp.Trailer)
	}
	if e := r.event(t); e.Status != 200 || e.BytesDown != 4 {
		t.Errorf("event %+v", e)
	}
}

// TestRequestTrailers leaves out what a client puts behind its body, where
// headers would stand that nobody has looked at.
func TestRequestTrailers(t *testing.T) {
	r, _, _ := plainRig(t, func(w http.ResponseWriter, req *http.Request) {
		dump(w, req)
		req.Trailer.Write(w)
	}, "example.com")
	_, body := r.send(t, "POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\nTrailer: X-Late\r\n\r\n"+
		"4\r\nping\r\n0\r\nX-Late: 1\r\nHost: evil.test\r\nProxy-Authorization: Basic x\r\n\r\n")
	if !strings.Contains(body, "body=ping") || strings.Contains(body, "X-Late: 1") || strings.Contains(body, "evil.test") || strings.Contains(body, "Basic") {
		t.Errorf("upstream saw %q", body)
	}
	if e := r.event(t); e.Status != 200 || e.BytesUp != 4 {
		t.Errorf("event %+v", e)
	}
}

// TestBadUpstreamInTunnel ends a tunnel whose upstream dies, and says how much
// had passed.
func TestBadUpstreamInTunnel(t *testing.T) {
	tests := []struct {
		name     string
		upstream func(net.Conn)
		down     int64
	}{
		{"dies at once", func(net.Conn) {}, 0},
		{"resets at the first byte", func(conn net.Conn) {
			io.ReadFull(conn, make([]byte, 1))
			conn.(*net.TCPConn).SetLinger(0)
		}, 0},
		{"dies in the middle", func(conn net.Conn) { io.WriteString(conn, "half"); io.ReadFull(conn, make([]byte, 4)) }, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			upstream := listen(t, tt.upstream).Addr().String()
			r := startRig(t, Config{Policy: mustPolicy(t, ModeAllowlist, []string{"tcp://" + upstream}, nil)})
			conn := r.connect(t, upstream)
			io.WriteString(conn, "ping")
			got, err := io.ReadAll(conn)
			if isTimeout(err) || int64(len(got)) != tt.down {
				t.Errorf("got %q, %v", got, err)
			}
			conn.Close()
			if e := r.event(t); !e.Allowed || e.Status != 200 || e.BytesDown != tt.down {
				t.Errorf("event %+v", e)
			}
			waitFree(t, r)
		})
	}
}

// TestUpstreamCannotSplit looks at an answer as it came: what an upstream puts
// into a header stays in it.
func TestUpstreamCannotSplit(t *testing.T) {
	r, _, _ := plainRig(t, func(w http.ResponseWriter, req *http.Request) {
		text, _ := url.QueryUnescape(req.URL.RawQuery)
		w.Header().Set("X-Echo", text) // the server's own library mends line ends
	}, "example.com")
	conn := r.dial(t)
	io.WriteString(conn, "GET http://example.com/?a%0d%0aX-Ralph-Denied:%20no%0d%0a%0d%0aHTTP/1.1%20200%20OK HTTP/1.1\r\nHost: example.com\r\n\r\n")
	got := readString(conn)
	if strings.Count(got, "\r\n\r\n") != 1 || strings.Contains(got, "\r\nX-Ralph-Denied") {
		t.Errorf("got %q", got)
	}
	if e := r.event(t); strings.ContainsAny(e.Path+e.Host+e.Reason, "\r\n") {
		t.Errorf("event %+v", e)
	}
}
