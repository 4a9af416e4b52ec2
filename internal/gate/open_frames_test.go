package gate

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
)

// headLines feeds the text in pieces of a size and returns the first lines of the
// heads that were found.
func headLines(text string, size int) []string {
	f := &frames{most: 1 << 10}
	for rest := []byte(text); len(rest) > 0; {
		n := min(size, len(rest))
		f.see(rest[:n])
		rest = rest[n:]
	}
	var lines []string
	for _, head := range f.heads {
		line, _, _ := strings.Cut(string(head.raw), "\r\n")
		if head.err != nil {
			line += " !"
		}
		lines = append(lines, line)
	}
	return lines
}

func TestFrames(t *testing.T) {
	const a, z = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n", "GET /z HTTP/1.1\r\nHost: x\r\n\r\n"
	const chunked = "POST /c HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n"
	const first, last = "GET /a HTTP/1.1", "GET /z HTTP/1.1"
	tests := []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"half a head", "GET /a HTTP/1.1\r\nHost: x\r\n", nil},
		{"two", a + z, []string{first, last}},
		{"a body", "POST /b HTTP/1.1\r\ncontent-length:  5 \r\n\r\nGET /" + z, []string{"POST /b HTTP/1.1", last}},
		{"a body that looks like a request", "POST /b HTTP/1.1\r\nContent-Length: 28\r\n\r\n" + a + z, []string{"POST /b HTTP/1.1", last}},
		{"half a body", "POST /b HTTP/1.1\r\nContent-Length: 99\r\n\r\n" + a, []string{"POST /b HTTP/1.1"}},
		{"chunks", chunked + "5\r\nhello\r\n1C;x=y\r\n" + a + "\r\n0\r\n\r\n" + z, []string{"POST /c HTTP/1.1", last}},
		{"a trailer", chunked + "0\r\nA: b\r\nC: d\r\n\r\n" + z, []string{"POST /c HTTP/1.1", last}},
		{"a bad head", "POST /b HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n" + z, []string{"POST /b HTTP/1.1 !"}},
		{"an unknown encoding", "POST /b HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n" + z, []string{"POST /b HTTP/1.1"}},
		{"a bad length", "POST /b HTTP/1.1\r\nContent-Length: 0x5\r\n\r\n" + z, []string{"POST /b HTTP/1.1"}},
		{"a bad chunk", chunked + "+5\r\nhello\r\n0\r\n\r\n" + z, []string{"POST /c HTTP/1.1"}},
		{"an empty chunk size", chunked + "\r\nhello\r\n0\r\n\r\n" + z, []string{"POST /c HTTP/1.1"}},
		{"a huge chunk", chunked + "ffffffffffffffff\r\n" + z, []string{"POST /c HTTP/1.1"}},
		{"a bare line feed", chunked + "5\nhello\r\n0\r\n\r\n" + z, []string{"POST /c HTTP/1.1"}},
		{"a long chunk line", chunked + "5;" + strings.Repeat("x", maxFrameLine) + "\r\nhello\r\n0\r\n\r\n" + z, []string{"POST /c HTTP/1.1"}},
		{"a long head", "GET /a HTTP/1.1\r\nX: " + strings.Repeat("x", 10<<10) + "\r\n\r\n" + z, nil},
	}
	for _, tt := range tests {
		for _, size := range []int{1, 2, 3, 7, 1 << 20} {
			if tt.name == "a long head" && size == 1<<20 {
				continue // net/http never reads that much in one go
			}
			if got := headLines(tt.text, size); strings.Join(got, "|") != strings.Join(tt.want, "|") {
				t.Errorf("%s, %d bytes at a time: %q, want %q", tt.name, size, got, tt.want)
			}
		}
	}
}

// TestFramesOfAnother wants a request without its own head refused.
func TestFramesOfAnother(t *testing.T) {
	f := &frames{most: 1 << 10}
	f.see([]byte("GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n"))
	for _, tt := range []struct {
		uri string
		err error
	}{{"/a", nil}, {"/c", errNoHead}, {"/b", errNoHead}} {
		if got := f.take(&http.Request{Method: "GET", RequestURI: tt.uri, Proto: "HTTP/1.1"}); !errors.Is(got.err, tt.err) {
			t.Errorf("%s: %v, want %v", tt.uri, got.err, tt.err)
		}
	}
}

// FuzzFrames compares frames with net/http. Every request that net/http reads
// must have its own head, or none: never that of another one.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /z HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhelloGET /z HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;a\r\nhello\r\n0\r\nA: b\r\n\r\nGET /z HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /z HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET / HTTP/1.1\nHost: x\n\nGET /z HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\n y\r\n\r\n", "\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, size int) {
		if size < 1 || len(data) > 1<<14 {
			return
		}
		whole, pieces := &frames{most: 64 << 10}, &frames{most: 64 << 10}
		whole.see(data)
		for rest := data; len(rest) > 0; {
			n := min(size, len(rest))
			pieces.see(rest[:n])
			rest = rest[n:]
		}
		if len(whole.heads) != len(pieces.heads) || whole.at != pieces.at {
			t.Fatalf("%q: %d heads at once, %d in pieces of %d", data, len(whole.heads), len(pieces.heads), size)
		}
		from := bufio.NewReader(bytes.NewReader(data))
		for {
			r, err := http.ReadRequest(from)
			if err != nil {
				return
			}
			_, bodyErr := io.Copy(io.Discard, r.Body)
			if head := whole.take(r); head.err == nil {
				wantSameRequest(t, data, r, head)
			}
			if bodyErr != nil {
				return
			}
		}
	})
}

// wantSameRequest reads a head that was found good and compares.
func wantSameRequest(t *testing.T, data []byte, r *http.Request, head framedHead) {
	t.Helper()
	again, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head.raw)))
	if err != nil || again.Method != r.Method || again.RequestURI != r.RequestURI || again.Host != r.Host || again.ContentLength != r.ContentLength {
		t.Errorf("%q: net/http read %s %s of %s, the head says %+v, %v", data, r.Method, r.RequestURI, r.Host, again, err)
	}
}
