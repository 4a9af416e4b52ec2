package gate

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/secret"
)

// TestInject is the whole of it: the upstream gets the secret, the client gets
// the answer, and the record gets the name.
func TestInject(t *testing.T) {
	upstream := &seen{}
	r := startOpenRig(t, openOptions{handler: upstream.ServeHTTP, credentials: []Credential{bearer()}})
	resp, body := r.do(t, "GET", "https://example.com/repos/x?page=2", nil)
	if resp.StatusCode != 200 || body != "fine" {
		t.Fatalf("answer %s %q", resp.Status, body)
	}
	got := upstream.last(t)
	if want := "Bearer " + theSecret; got.Header.Get("Authorization") != want || len(got.Header["Authorization"]) != 1 {
		t.Errorf("upstream saw %q", got.Header["Authorization"])
	}
	if got.Host != "example.com" || got.RequestURI != "/repos/x?page=2" || got.Header.Get("Accept-Encoding") != "identity" {
		t.Errorf("upstream saw %s %s %v", got.Host, got.RequestURI, got.Header)
	}
	tunnel := r.event(t)
	if tunnel.Method != "CONNECT" || !tunnel.Allowed || tunnel.Host != "example.com" || tunnel.Port != 443 || tunnel.Rule != "example.com" || !strings.HasPrefix(tunnel.Reason, "opened:") {
		t.Errorf("event %+v", tunnel)
	}
	e := r.event(t)
	if !e.Allowed || e.Run != "r1" || e.Method != "GET" || e.Host != "example.com" || e.Port != 443 || e.Path != "/repos/x" || e.Rule != "example.com" {
		t.Errorf("event %+v", e)
	}
	if e.Credential != "token" || e.Status != 200 || e.BytesDown != 4 || e.Duration <= 0 || e.Addr == "" || e.Code != "" {
		t.Errorf("event %+v", e)
	}
	if shown := fmt.Sprintf("%+v %+v", tunnel, e); strings.Contains(shown, theSecret) {
		t.Errorf("the record holds the secret: %s", shown)
	}
	if got := r.board.dialled(); len(got) != 1 || got[0].String() != "93.184.216.34:443" {
		t.Errorf("dialled %v", got)
	}
}

// TestInjectForms sends the secret in every way it can be sent.
func TestInjectForms(t *testing.T) {
	for _, tt := range []struct {
		name         string
		change       func(*Credential)
		header, want string
	}{
		{"bearer", func(*Credential) {}, "Authorization", "Bearer " + theSecret},
		{"token", func(c *Credential) { c.Format = "token {}" }, "Authorization", "token " + theSecret},
		{"a header of its own", func(c *Credential) { c.Header, c.Format = "private-token", "" }, "Private-Token", theSecret},
		{"basic", func(c *Credential) { c.Header, c.Format, c.Basic = "", "", "x-access-token" }, "Authorization",
			"Basic " + base64.StdEncoding.EncodeToString([]byte("x-access-token:"+theSecret))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			upstream := &seen{}
			r := startOpenRig(t, openOptions{handler: upstream.ServeHTTP, credentials: []Credential{bearer(tt.change)}})
			r.do(t, "GET", "https://example.com/", nil)
			if got := upstream.last(t).Header[tt.header]; len(got) != 1 || got[0] != tt.want {
				t.Errorf("upstream saw %q, want %q", got, tt.want)
			}
		})
	}
}

// TestInjectEveryHost opens what is bound, on its port, and nothing else.
func TestInjectEveryHost(t *testing.T) {
	upstream := &seen{}
	r := startOpenRig(t, openOptions{
		handler:     upstream.ServeHTTP,
		allow:       []string{"example.com", "example.com:8443", "*.example.com", "example.org"},
		credentials: []Credential{bearer(func(c *Credential) { c.Hosts = []string{"*.example.com", "example.com:8443"} })},
	})
	for _, host := range []string{"api.example.com", "example.com:8443"} {
		if resp, body := r.do(t, "GET", "https://"+host+"/", nil); resp.StatusCode != 200 {
			t.Errorf("%s: answer %s %q", host, resp.Status, body)
		}
		if got := upstream.last(t); got.Header.Get("Authorization") == "" || got.Host != host {
			t.Errorf("%s: upstream saw %s %v", host, got.Host, got.Header)
		}
	}
	// Not bound: the tunnel ends at the upstream, whom this client does not know.
	for _, host := range []string{"example.com", "example.org"} {
		_, err := r.httpClient(t).Get("https://" + host + "/")
		var unknown *tls.CertificateVerificationError
		if !errors.As(err, &unknown) || unknown.UnverifiedCertificates[0].Subject.Organization[0] == "ralph" {
			t.Errorf("%s: error %v, want the upstream's own certificate", host, err)
		}
	}
	if upstream.count() != 2 {
		t.Errorf("the upstream got %d requests", upstream.count())
	}
}

// TestStripOwn takes away whatever the client shows of itself, and what makes a
// server see another request.
func TestStripOwn(t *testing.T) {
	own := map[string]string{
		"Authorization": "Bearer mine", "Cookie": "session=mine", "Proxy-Authorization": "Basic bWluZQ==", "X-Api-Key": "mine",
		"Private-Token": "mine", "Job-Token": "mine", "X-Auth-Token": "mine", "X_Api_Key": "mine", "X-Goog-Api-Key": "mine",
		"X-Amz-Security-Token": "mine", "X-Jfrog-Art-Api": "mine", "Deploy-Token": "mine", "Token": "mine", "Apikey": "mine",
		"X-Http-Method-Override": "DELETE", "X-Http-Method": "DELETE", "X-Method-Override": "DELETE", "X_http_method_override": "DELETE",
		"X-Original-Url": "/admin", "X-Rewrite-Url": "/admin", "X-Forwarded-Host": "evil.test", "X-Forwarded-For": "127.0.0.1", "Forwarded": "host=evil.test",
		"Range": "bytes=0-3", "Accept-Encoding": "gzip", "X-Mine": "mine", "X_mine": "mine",
	}
	kept := map[string]string{"User-Agent": "git/2", "Git-Protocol": "version=2", "X-Github-Api-Version": "2022-11-28", "Npm-Command": "install"}
	for _, tt := range []struct {
		name, auth string
		change     func(*Credential)
	}{
		{"with a secret", "Bearer " + theSecret, func(*Credential) {}},
		{"with another header", "", func(c *Credential) { c.Header, c.Format = "X-Mine", "" }},
		{"with limits alone", "", func(c *Credential) { c.Header, c.Format, c.Source = "", "", nil }},
		{"elsewhere", "", func(c *Credential) { c.Paths, c.Elsewhere = []string{"/other"}, ElsewhereAnonymous }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			upstream := &seen{}
			second := bearer(func(c *Credential) {
				c.Name, c.Header, c.Paths, c.Elsewhere = "second", "X-Mine", []string{"/second"}, ElsewhereAnonymous
			})
			r := startOpenRig(t, openOptions{handler: upstream.ServeHTTP, credentials: []Credential{second, bearer(tt.change)}})
			all := map[string]string{}
			for _, headers := range []map[string]string{own, kept} {
				for name, value := range headers {
					all[name] = value
				}
			}
			r.do(t, "POST", "https://example.com/", all)
			got := upstream.last(t)
			if got.Method != "POST" || got.Header.Get("Authorization") != tt.auth {
				t.Errorf("upstream saw %s %v", got.Method, got.Header)
			}
			for name, value := range own {
				if sent := got.Header[name]; len(sent) > 0 && sent[0] == value && (tt.auth != "" || name != "Range" && name != "Accept-Encoding") {
					t.Errorf("upstream saw %s: %s", name, sent)
				}
			}
			for name, value := range kept {
				if got.Header.Get(name) != value {
					t.Errorf("upstream saw %s: %q, want %q", name, got.Header.Get(name), value)
				}
			}
		})
	}
}

// TestInjectIsNotUndone has a client name the credential's header as one that
// proxies take away.
func TestInjectIsNotUndone(t *testing.T) {
	upstream := &seen{}
	r := startOpenRig(t, openOptions{handler: upstream.ServeHTTP, credentials: []Credential{bearer()}})
	resp, _ := r.raw(t, "POST / HTTP/1.1\r\nHost: example.com\r\nConnection: close, Authorization, Host\r\nTransfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n0\r\nAuthorization: mine\r\n\r\n")
	got := upstream.last(t)
	if resp.StatusCode != 200 || got.Header.Get("Authorization") != "Bearer "+theSecret || got.Host != "example.com" || len(got.Trailer) > 0 {
		t.Errorf("answer %s, upstream saw %v %v", resp.Status, got.Header, got.Trailer)
	}
}

// TestBindingLimits wants a request outside of method and path refused, before
// the upstream or the secret are asked.
func TestBindingLimits(t *testing.T) {
	upstream := &seen{}
	asked := 0
	r := startOpenRig(t, openOptions{handler: upstream.ServeHTTP, credentials: []Credential{bearer(func(c *Credential) {
		c.Methods, c.Paths = []string{"GET"}, []string{"/repos/acme/**"}
		c.Source = func(context.Context) (secret.Secret, error) { asked++; return secret.New(theSecret), nil }
	})}})
	for _, tt := range []struct{ method, path, code string }{
		{"POST", "/repos/acme/x", CodeNotBound},
		{"GET", "/user", CodeNotBound},
		{"GET", "/repos/acme/%2e%2e/%2e%2e/user", CodeAmbiguousPath},
		{"GET", "/repos/acme/..%2f..%2fuser", CodeAmbiguousPath},
		{"GET", "/repos/acme//user", CodeAmbiguousPath},
	} {
		resp, body := r.do(t, tt.method, "https://example.com"+tt.path, nil)
		if resp.StatusCode != 403 || resp.Header.Get(deniedHeader) == "" || !strings.HasPrefix(body, "ralph: example.com:443 is not allowed: ") {
			t.Errorf("%s %s: answer %s %q", tt.method, tt.path, resp.Status, body)
		}
		if e := r.inner(t); e.Allowed || e.Code != tt.code || e.Status != 403 || e.Credential != "" {
			t.Errorf("%s %s: event %+v", tt.method, tt.path, e)
		}
	}
	if upstream.count() != 0 || asked != 0 || len(r.board.dialled()) != 0 {
		t.Errorf("the upstream got %d requests, the source %d", upstream.count(), asked)
	}
	if resp, _ := r.do(t, "GET", "https://example.com/repos/acme/x", nil); resp.StatusCode != 200 || asked != 1 {
		t.Errorf("inside the limits: answer %s", resp.Status)
	}
}

// TestOpenedWithoutSecret is a host that is only limited: fetching with git may
// pass, pushing may not.
func TestOpenedWithoutSecret(t *testing.T) {
	upstream := &seen{}
	r := startOpenRig(t, openOptions{handler: upstream.ServeHTTP, credentials: []Credential{{
		Name: "fetch only", Hosts: []string{"example.com"}, Methods: []string{"GET", "POST"}, Paths: []string{"/*/*/info/refs", "/*/*/git-upload-pack"},
	}}})
	if resp, _ := r.do(t, "POST", "https://example.com/acme/repo.git/git-upload-pack", nil); resp.StatusCode != 200 {
		t.Errorf("fetch: answer %s", resp.Status)
	}
	if e := r.inner(t); !e.Allowed || e.Credential != "" || !strings.Contains(e.Reason, `within the limits of "fetch only"`) || upstream.last(t).Header.Get("Authorization") != "" {
		t.Errorf("event %+v", e)
	}
	if resp, _ := r.do(t, "POST", "https://example.com/acme/repo.git/git-receive-pack", nil); resp.StatusCode != 403 {
		t.Errorf("push: answer %s", resp.Status)
	}
}
