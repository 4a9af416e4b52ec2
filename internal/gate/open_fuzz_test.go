package gate

import (
	"bufio"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"testing"
)

// FuzzCanonicalPath checks patterns against what servers make of a path: however
// one decodes and cleans it, it must stay below the prefix of the pattern.
func FuzzCanonicalPath(f *testing.F) {
	for _, seed := range []string{
		"/repos/acme/x", "/repos/acme/../x", "/repos/acme/%2e%2e/x", "/repos/acme/..%2fx", "/repos/acme/%252e%252e/", "/repos/acme/..;/x",
		`/repos/acme/..\x`, "/repos/acme//x", "/repos/acme/%5c..%5cx", "/repos/acme/.", "/repos/acme/%c0%ae%c0%ae/", "/repos/acme/a%20b", "/%72epos/acme/x", "/repos/acme%2f..%2fx", "/repos/acme/*",
	} {
		f.Add(seed)
	}
	pattern, err := parsePathPattern("/repos/acme/**")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, escaped string) {
		canonical, oddity := canonicalPath(escaped)
		if again, odd := canonicalPath(canonical); again != canonical || odd != oddity {
			t.Errorf("canonicalPath(%q) = %q, %q, again %q, %q", escaped, canonical, oddity, again, odd)
		}
		if oddity != "" || !pattern.matches(canonical) {
			return
		}
		for _, reading := range readings(t, escaped) {
			if !strings.HasPrefix(reading, "/repos/acme/") && reading != "/repos/acme" {
				t.Errorf("%q passed, and leads to %q", escaped, reading)
			}
		}
	})
}

// readings are what servers may make of a path.
func readings(t *testing.T, escaped string) []string {
	once, err := url.PathUnescape(escaped)
	if err != nil {
		t.Errorf("%q passed, and has bad escapes", escaped)
	}
	all := []string{path.Clean(escaped), path.Clean(once), path.Clean(strings.ReplaceAll(once, `\`, "/"))}
	if twice, err := url.PathUnescape(once); err == nil {
		all = append(all, path.Clean(twice))
	}
	parameters, _, _ := strings.Cut(once, ";")
	return append(all, path.Clean(parameters))
}

// FuzzOpenedRequest sends any bytes through an opened tunnel. What reaches the
// upstream must be within the binding, for the host, and have one credential.
func FuzzOpenedRequest(f *testing.F) {
	for _, seed := range []string{
		"GET /repos/acme/x HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"GET /repos/acme/../x HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"POST /repos/acme/x HTTP/1.1\r\nHost: example.com\r\nContent-Length: 3\r\nAuthorization: mine\r\n\r\nabcGET /evil HTTP/1.1\r\nHost: evil.test\r\n\r\n",
		"POST /repos/acme/x HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET /repos/acme/x HTTP/1.1\r\nHost: example.com\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
		"GET https://evil.test/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	wrong := make(chan string, 16)
	upstream := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		auth := r.Header["Authorization"]
		if r.Host != "example.com" || !strings.HasPrefix(path.Clean(r.URL.Path)+"/", "/repos/acme/") || len(auth) != 1 || auth[0] != "Bearer "+theSecret || r.Header["Cookie"] != nil || r.Header["Upgrade"] != nil {
			wrong <- r.Method + " " + r.Host + r.RequestURI
		}
		io.Copy(io.Discard, r.Body)
	}))
	f.Cleanup(upstream.Close)
	r := startOpenRigOn(f, openOptions{credentials: []Credential{bearer(func(c *Credential) { c.Paths = []string{"/repos/acme/**"} })}, config: func(c *Config) { c.Log = func(Event) {} }}, upstream, upstream.Listener.Addr().String())
	f.Fuzz(func(t *testing.T, data []byte) {
		conn := tls.Client(r.connect(t, "example.com:443"), &tls.Config{ServerName: "example.com", RootCAs: r.roots})
		conn.Write(data)
		conn.CloseWrite()
		io.Copy(io.Discard, bufio.NewReader(conn))
		conn.Close()
		select {
		case what := <-wrong:
			t.Errorf("%q reached the upstream as %s", data, what)
		default:
		}
	})
}
