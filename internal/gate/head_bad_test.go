package gate

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// badHead is a request that two parsers could read as two requests, or that no
// parser should read at all.
type badHead struct {
	name   string
	raw    string
	status int
	says   string // the client reads
	logs   string // the event's reason
}

const unserved = "no valid request in time" // net/http has answered by itself

func badHeads() []badHead {
	const get, post = "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n", "POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\n"
	const connect = "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n"
	const twice = "it states its length more than once"
	const mixed = "\r\nContent-Length: 6\r\n\r\n0\r\n\r\nGET http://evil.test/ HTTP/1.1\r\n\r\n"
	return []badHead{
		{"TE.CL", post + "Transfer-Encoding: chunked" + mixed, 400, twice, twice},
		{"CL.TE", post + "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG", 400, twice, twice},
		{"TE.TE with a space", post + "Transfer-Encoding : chunked" + mixed, 400, "invalid header name", unserved},
		{"TE.TE with a tab", post + "Transfer-Encoding:\tchunked" + mixed, 400, twice, twice},
		{"TE.TE with a vertical tab", post + "Transfer-Encoding: \x0bchunked" + mixed, 400, "400 Bad Request", unserved},
		{"TE.TE with another case", post + "tRANSFER-eNCODING: chunked" + mixed, 400, twice, twice},
		{"TE with a folded value", post + "Transfer-Encoding:\r\n chunked" + mixed, 400, "folded", "folded"},
		{"two equal lengths", post + "Content-Length: 4\r\nContent-Length: 4\r\n\r\nping", 400, twice, twice},
		{"a length that is a sum", post + "Content-Length: 2+2\r\n\r\nping", 400, "400 Bad Request", unserved},
		{"a length in hexadecimal", post + "Content-Length: 0x4\r\n\r\nping", 400, "400 Bad Request", unserved},
		{"a length for a CONNECT", connect + "Content-Length: 3\r\n\r\nGET", 400, "CONNECT has no body", "CONNECT has no body"},
		{"chunks for a CONNECT", connect + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "CONNECT has no body", "CONNECT has no body"},
		{"two equal hosts", get + "Host: example.com\r\n\r\n", 400, "400 Bad Request", unserved},
		{"two hosts for a CONNECT", connect + "Host: evil.test\r\n\r\n", 400, "400 Bad Request", unserved},
		{"a host with a comma", "GET http://example.com/ HTTP/1.1\r\nHost: example.com,evil.test\r\n\r\n", 400, "the Host header differs", "the Host header differs"},
		{"absolute form with another host", "GET http://example.com/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", 400, "the Host header differs", "the Host header differs"},
		{"absolute form with another port", "GET http://example.com/ HTTP/1.1\r\nHost: example.com:8080\r\n\r\n", 400, "the Host header differs", "the Host header differs"},
		{"absolute form without a host", "GET http://example.com/ HTTP/1.1\r\n\r\n", 400, "missing required Host header", unserved},
		{"a user name", "GET http://user@example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", 400, "a URL with a user name", "a URL with a user name"},
		{"a user name that looks like a host", "GET http://evil.test:80@example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", 400, "a URL with a user name", "a URL with a user name"},
		{"a user name in a CONNECT", "CONNECT evil.test@example.com:443 HTTP/1.1\r\n\r\n", 400, "CONNECT wants host:port", "CONNECT wants host:port"},
		{"a fragment", "GET http://example.com#@evil.test/ HTTP/1.1\r\nHost: example.com\r\n\r\n", 400, "", ""},
		{"a backslash", "GET http://example.com\\@evil.test/ HTTP/1.1\r\nHost: example.com\r\n\r\n", 400, "400 Bad Request", unserved},
		{"one header of 10 MB", get + "X: " + strings.Repeat("y", 10<<20) + "\r\n\r\n", 431, "Request Header Fields Too Large", unserved},
		{"100,000 headers", get + strings.Repeat("X: y\r\n", 100_000) + "\r\n", 431, "Request Header Fields Too Large", unserved},
		{"a URL of 10 MB", "GET http://example.com/" + strings.Repeat("y", 10<<20) + " HTTP/1.1\r\nHost: example.com\r\n\r\n", 431, "Request Header Fields Too Large", unserved},
		{"a line without an end, 10 MB", strings.Repeat("y", 10<<20), 431, "Request Header Fields Too Large", unserved},
		{"HTTP/0.9", "GET http://example.com/\r\n\r\n", 400, "400 Bad Request", unserved},
		{"HTTP/2 with prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", 400, "this is a proxy", "this is a proxy"},
	}
}

// TestBadHeads wants each refused in words, on record, and nothing asked of a
// resolver for it.
func TestBadHeads(t *testing.T) {
	for _, tt := range badHeads() {
		t.Run(tt.name, func(t *testing.T) {
			r, names, board := plainRig(t, dump, "example.com", "evil.test")
			conn := r.dial(t)
			go io.WriteString(conn, tt.raw)
			status, body, _ := readFinal(conn)
			if status != tt.status || !strings.Contains(body, tt.says) {
				t.Errorf("answer %d %q, want %d with %q", status, body, tt.status, tt.says)
			}
			conn.Close()
			if e := r.event(t); e.Allowed || e.Reason == "" || !strings.Contains(e.Reason, tt.logs) {
				t.Errorf("event %+v, want %q", e, tt.logs)
			}
			if asked, dialled := names.questions(), board.dialled(); len(asked)+len(dialled) != 0 {
				t.Errorf("asked for %q, dialled %v", asked, dialled)
			}
		})
	}
}

// TestHeadRecorderIsBounded keeps no more of a head than a request may have.
func TestHeadRecorderIsBounded(t *testing.T) {
	h := headRecorder{most: 1 << 10}
	for range 10_000 {
		h.record([]byte(strings.Repeat("x", 4<<10)))
	}
	if len(h.data) > 1<<10+16<<10 || !h.done {
		t.Errorf("kept %d bytes, done %t", len(h.data), h.done)
	}
}

// witness is an upstream that keeps the requests as they arrive.
type witness struct {
	mu   sync.Mutex
	seen []string
}

func (w *witness) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, fmt.Sprintf("%s %s host=%s headers=%d a=%q", r.Method, r.RequestURI, r.Host, len(r.Header), r.Header["X-A"]))
}

func (w *witness) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}

// TestStrayBytesInHeads puts each of the bytes that parsers disagree about at
// every place of a request. It is refused, or it is still the one request to the
// one host.
func TestStrayBytesInHeads(t *testing.T) {
	var upstream witness
	config, names, board := plainConfig(t, upstream.ServeHTTP, "example.com")
	r := startRig(t, config)
	for _, head := range []string{
		"GET http://example.com/p HTTP/1.1\r\nHost: example.com\r\nX-A: b\r\n",
		"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\nX-A: b\r\n",
	} {
		for _, stray := range []string{"\r", "\n", "\r\n", " ", "\t", "\x00", "\x0b", "\x85", "\u00a0", "%0d%0a", "@", "#"} {
			for at := range len(head) + 1 {
				raw := head[:at] + stray + head[at:]
				status := firstStatus(t, r, raw+"\r\n\r\n")
				r.event(t)
				checkStray(t, raw, status, upstream.take())
			}
		}
	}
	for _, name := range names.questions() {
		if name != "example.com." {
			t.Errorf("asked for %q", name)
		}
	}
	for _, addr := range board.dialled() {
		if addr.Addr() != publicAddr || addr.Port() != 80 && addr.Port() != 443 {
			t.Errorf("dialled %v", addr)
		}
	}
}

// firstStatus sends a request, reads the first line of the answer and gives its
// connection up.
func firstStatus(t *testing.T, r *rig, raw string) (status int) {
	t.Helper()
	conn := r.dial(t)
	defer conn.Close()
	io.WriteString(conn, raw)
	line, err := bufio.NewReader(conn).ReadString('\n')
	if _, scanErr := fmt.Sscanf(line, "HTTP/1.1 %d ", &status); scanErr != nil {
		t.Errorf("%q: answer %q, %v", raw, line, err)
	}
	return status
}

func checkStray(t *testing.T, raw string, status int, seen []string) {
	t.Helper()
	if len(seen) == 0 && (status >= 400 || strings.HasPrefix(raw, "CONNECT ")) {
		return
	}
	one := len(seen) == 1 && (strings.Contains(seen[0], " host=example.com headers=1 ") || strings.Contains(seen[0], " host=example.com headers=0 "))
	if !one || status != 200 {
		t.Errorf("%q: answer %d, upstream saw %q", raw, status, seen)
	}
}
