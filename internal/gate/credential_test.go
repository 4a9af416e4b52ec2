package gate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/secret"
)

// TestNewCredentialsReportsAll wants one line for every mistake, at once.
func TestNewCredentialsReportsAll(t *testing.T) {
	policy := mustPolicy(t, ModeAllowlist, []string{"example.com", "*.example.org", "www.example.net", "denied.example.org"}, []string{"denied.example.org"})
	tests := []struct {
		name   string
		change func(*Credential)
		want   string
	}{
		{"no name", func(c *Credential) { c.Name = "" }, "it has no name"},
		{"no host", func(c *Credential) { c.Hosts = nil }, "it has no host"},
		{"a host with a scheme", func(c *Credential) { c.Hosts = []string{"https://example.com"} }, "without a scheme"},
		{"a bare *", func(c *Credential) { c.Hosts = []string{"*"} }, "a bare * is no rule"},
		{"a public suffix", func(c *Credential) { c.Hosts = []string{"*.com"} }, "whole public suffix"},
		{"an address", func(c *Credential) { c.Hosts = []string{"192.0.2.7"} }, "not to an address"},
		{"any bytes", func(c *Credential) { c.Hosts = []string{"tcp://example.com:443"} }, "without tcp://"},
		{"plain HTTP", func(c *Credential) { c.Hosts = []string{"example.com:80"} }, "port 80"},
		{"a host that is not allowed", func(c *Credential) { c.Hosts = []string{"evil.test"} }, "add evil.test to the allowed hosts"},
		{"a port that is not allowed", func(c *Credential) { c.Hosts = []string{"example.com:8443"} }, "add example.com:8443 to the allowed hosts"},
		{"a host that is denied", func(c *Credential) { c.Hosts = []string{"denied.example.org"} }, "denied by rule"},
		{"a wildcard over nothing allowed", func(c *Credential) { c.Hosts = []string{"*.evil.test"} }, "no allowed host lies below it"},
		{"a wildcard beside what is allowed", func(c *Credential) { c.Hosts = []string{"*.example.com"} }, "no allowed host lies below it"},
		{"a small method", func(c *Credential) { c.Methods = []string{"get"} }, `"get" is not a method`},
		{"no method", func(c *Credential) { c.Methods = []string{"GET POST"} }, "is not a method"},
		{"TRACE", func(c *Credential) { c.Methods = []string{"TRACE"} }, "TRACE is not passed on"},
		{"a method twice", func(c *Credential) { c.Methods = []string{"GET", "GET"} }, "named twice"},
		{"a relative path", func(c *Credential) { c.Paths = []string{"repos"} }, "begins with /"},
		{"a path with a query", func(c *Credential) { c.Paths = []string{"/a?b"} }, "has no query"},
		{"a path with ..", func(c *Credential) { c.Paths = []string{"/a/../b"} }, "has a .. segment"},
		{"** in the middle", func(c *Credential) { c.Paths = []string{"/a/**/b"} }, "only at the end"},
		{"header and basic", func(c *Credential) { c.Basic = "git" }, "exclude each other"},
		{"no source", func(c *Credential) { c.Source = nil }, "not where the secret is"},
		{"a source alone", func(c *Credential) { c.Header, c.Format = "", "" }, "not how to send it"},
		{"a format without its place", func(c *Credential) { c.Format = "Bearer" }, "with {} once"},
		{"a format with two places", func(c *Credential) { c.Format = "{} {}" }, "with {} once"},
		{"a format with a line end", func(c *Credential) { c.Format = "x\r\nHost: {}" }, "with {} once"},
		{"a user name with a colon", func(c *Credential) { c.Header, c.Format, c.Basic = "", "", "a:b" }, "holds a colon"},
		{"no header name", func(c *Credential) { c.Header = "X Y" }, "not the name of a header"},
		{"Host", func(c *Credential) { c.Header = "host" }, "Host cannot carry"},
		{"Content-Length", func(c *Credential) { c.Header = "Content-Length" }, "cannot carry"},
		{"Transfer-Encoding", func(c *Credential) { c.Header = "Transfer-Encoding" }, "cannot carry"},
		{"Proxy-Authorization", func(c *Credential) { c.Header = "Proxy-Authorization" }, "cannot carry"},
		{"Cookie", func(c *Credential) { c.Header = "Cookie" }, "cannot carry"},
		{"an override", func(c *Credential) { c.Header = "X-HTTP-Method-Override" }, "cannot carry"},
		{"elsewhere", func(c *Credential) { c.Elsewhere = "anywhere" }, "want refuse or anonymous"},
	}
	var all []Credential
	for _, tt := range tests {
		bad := bearer(tt.change)
		all = append(all, bad)
		if _, err := NewCredentials(policy, []Credential{bad}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
	_, err := NewCredentials(policy, all)
	for _, tt := range tests {
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("together: error %v, without %q", err, tt.want)
		}
	}
}

func TestNewCredentialsTwice(t *testing.T) {
	policy := mustPolicy(t, ModeAllowlist, []string{"example.com"}, nil)
	if _, err := NewCredentials(policy, []Credential{bearer(), bearer()}); err == nil || !strings.Contains(err.Error(), "another credential of this name") {
		t.Errorf("the same name: error %v", err)
	}
	second := bearer(func(c *Credential) { c.Name = "second" })
	if _, err := NewCredentials(policy, []Credential{bearer(), second}); err == nil || !strings.Contains(err.Error(), "never used") {
		t.Errorf("behind one that takes all: error %v", err)
	}
	narrow := bearer(func(c *Credential) { c.Paths = []string{"/a/**"} })
	if _, err := NewCredentials(policy, []Credential{narrow, second}); err != nil {
		t.Errorf("behind a narrow one: error %v", err)
	}
}

// TestNewCredentialsNeedEnforcement is the invariant that nothing is injected
// where everything is reached.
func TestNewCredentialsNeedEnforcement(t *testing.T) {
	limit := Credential{Name: "limit", Hosts: []string{"example.com"}, Methods: []string{"GET"}}
	for _, tt := range []struct {
		policy *Policy
		want   string
	}{
		{mustPolicy(t, ModeAllowAll, nil, nil), "not used under the network policy allow-all"},
		{mustPolicy(t, ModeNone, nil, nil), "the network policy is none"},
		{nil, "the network policy is none"},
		{&Policy{}, "the network policy is none"},
	} {
		for _, c := range []Credential{bearer(), limit} {
			if made, err := NewCredentials(tt.policy, []Credential{c}); made != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s under %+v: %v, %v", c.Name, tt.policy, made, err)
			}
		}
	}
}

func TestNoCredentials(t *testing.T) {
	none, err := NewCredentials(mustPolicy(t, ModeAllowAll, nil, nil), nil)
	if err != nil || none.Certificate() != nil || none.opens(target{host{name: "example.com"}, 443}) {
		t.Errorf("no credentials: %+v, %v", none, err)
	}
	var missing *Credentials
	if missing.Certificate() != nil || missing.opens(target{host{name: "example.com"}, 443}) {
		t.Error("nil credentials open something")
	}
}

// TestCredentialHosts wants a binding to open its own host and port alone.
func TestCredentialHosts(t *testing.T) {
	policy := mustPolicy(t, ModeAllowlist, []string{"example.com", "*.example.org", "git.test:8443", "a.b.example.net"}, nil)
	credentials, err := NewCredentials(policy, []Credential{bearer(func(c *Credential) {
		c.Hosts = []string{"example.com", "*.sub.example.org", "git.test:8443", "*.example.net"}
	})})
	if err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]bool{
		"example.com:443": true, "EXAMPLE.com.:443": true, "example.com:80": false, "example.com:8443": false,
		"www.example.com:443": false, "sub.example.org:443": false, "a.sub.example.org:443": true,
		"git.test:8443": true, "git.test:443": false, "a.b.example.net:443": true, "93.184.216.34:443": false,
	} {
		parsed, err := parseTarget(to, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := credentials.opens(parsed); got != want {
			t.Errorf("opens %s: %v, want %v", to, got, want)
		}
	}
}

// TestChoose has three credentials for one host. The first that matches wins.
func TestChoose(t *testing.T) {
	credentials, err := NewCredentials(mustPolicy(t, ModeAllowlist, []string{"example.com"}, nil), []Credential{
		bearer(func(c *Credential) {
			c.Name, c.Methods, c.Paths = "read", []string{"GET", "HEAD"}, []string{"/repos/acme/**"}
		}),
		bearer(func(c *Credential) {
			c.Name, c.Paths = "issues", []string{"/repos/acme/*/issues", "/projects/acme%2frepo/**"}
		}),
		bearer(func(c *Credential) { c.Name, c.Methods = "post", []string{"POST"} }),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ method, path, want string }{
		{"GET", "/repos/acme/x", "read"},
		{"GET", "/repos/acme/", "read"},
		{"GET", "/repos/acme", CodeNotBound},
		{"GET", "/repos/acmex/y", CodeNotBound},
		{"GET", "/repos/ACME/y", CodeNotBound},
		{"GET", "/repos/other/x", CodeNotBound},
		{"get", "/repos/acme/x", CodeNotBound},
		{"PUT", "/repos/acme/x/issues", "issues"},
		{"PUT", "/repos/acme/x/y/issues", CodeNotBound},
		{"PUT", "/repos/acme/x/issues/", CodeNotBound},
		{"PUT", "/repos/acme/%78/issues", CodeAmbiguousPath},
		{"PUT", "/repos/acme/a%20b/issues", "issues"},
		{"POST", "/anything", "post"},
		{"DELETE", "/repos/acme/x", CodeNotBound},
		{"GET", "/%72epos/acme/x", CodeAmbiguousPath},
		{"GET", "/repos/acme/%7Ex%7e", "read"},

		{"GET", "/projects/acme%2Frepo/x", "issues"},
		{"GET", "/projects/acme%2frepo/x", "issues"},
		{"GET", "/projects/acme%2fother/x", CodeAmbiguousPath},
		{"GET", "/projects/acme%2frepo/x%2fy", CodeAmbiguousPath},
		{"GET", "/projects/acme/repo/x", CodeNotBound},

		{"GET", "/repos/acme/../other/x", CodeAmbiguousPath},
		{"GET", "/repos/acme/%2e%2e/other/x", CodeAmbiguousPath},
		{"GET", "/repos/acme/.%2e/other", CodeAmbiguousPath},
		{"GET", "/repos/acme/./x", CodeAmbiguousPath},
		{"GET", "/repos/acme//x", CodeAmbiguousPath},
		{"GET", "//repos/acme/x", CodeAmbiguousPath},
		{"GET", "/repos/acme/x%2f..%2fy", CodeAmbiguousPath},
		{"GET", "/repos/acme/..%5cother", CodeAmbiguousPath},
		{"GET", `/repos/acme/..\other`, CodeAmbiguousPath},
		{"GET", "/repos/acme/..;/other", CodeAmbiguousPath},
		{"GET", "/repos/acme/x;a=b", CodeAmbiguousPath},
		{"GET", "/repos/acme/x%3bv", CodeAmbiguousPath},
		{"GET", "/repos/acme/%252e%252e/other", CodeAmbiguousPath},
		{"GET", "/repos/acme/x%00", CodeAmbiguousPath},
		{"GET", "/repos/acme/x%0d%0aHost:y", CodeAmbiguousPath},
		{"GET", "/repos/acme/x%3f", CodeAmbiguousPath},
		{"GET", "/repos/acme/%zz", CodeAmbiguousPath},
		{"GET", "/repos/acme/%c0%ae%c0%ae/x", CodeAmbiguousPath}, // dots to lax decoders
		{"GET", "/repos/acme/%c3%a9", "read"},
		{"POST", "/a/../b", CodeAmbiguousPath}, // also for a credential without paths
		{"POST", "/a%2fb", CodeAmbiguousPath},
	} {
		got := credentials.choose(target{host{name: "example.com"}, 443}, tt.method, tt.path)
		name := ""
		switch {
		case got.refused != nil:
			name = got.refused.code
		case got.binding != nil:
			name = got.binding.name
		}
		if name != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.method, tt.path, name, tt.want)
		}
	}
}

// TestChooseElsewhere passes what does not match only if all agree.
func TestChooseElsewhere(t *testing.T) {
	at := target{host{name: "example.com"}, 443}
	make := func(second Elsewhere) *Credentials {
		credentials, err := NewCredentials(mustPolicy(t, ModeAllowlist, []string{"example.com"}, nil), []Credential{
			bearer(func(c *Credential) { c.Name, c.Paths, c.Elsewhere = "a", []string{"/a"}, ElsewhereAnonymous }),
			bearer(func(c *Credential) { c.Name, c.Paths, c.Elsewhere = "b", []string{"/b"}, second }),
		})
		if err != nil {
			t.Fatal(err)
		}
		return credentials
	}
	if got := make(ElsewhereAnonymous).choose(at, "GET", "/c"); got.refused != nil || got.binding != nil {
		t.Errorf("all anonymous: %+v", got)
	}
	if got := make(ElsewhereAnonymous).choose(at, "GET", "/c/../a"); got.refused == nil {
		t.Errorf("an odd path: %+v", got)
	}
	if got := make("").choose(at, "GET", "/c"); got.refused == nil || got.refused.code != CodeNotBound {
		t.Errorf("one refuses: %+v", got)
	}
}

// TestPathWithoutLimits lets a host that has no paths have any.
func TestPathWithoutLimits(t *testing.T) {
	credentials, err := NewCredentials(mustPolicy(t, ModeAllowlist, []string{"example.com"}, nil), []Credential{bearer()})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/@scope%2fname", "/a//b", "/a;b"} {
		if got := credentials.choose(target{host{name: "example.com"}, 443}, "GET", path); got.binding == nil {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func TestSourceTakesTurns(t *testing.T) {
	hold := make(chan struct{})
	calls := make(chan struct{}, 8)
	s := newSource(func(context.Context) (secret.Secret, error) {
		calls <- struct{}{}
		<-hold // deaf to its context
		return secret.New("late"), nil
	})
	for range 3 {
		if _, err := s.get(t.Context(), 10*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	}
	if len(calls) != 1 {
		t.Errorf("%d calls hang, want 1", len(calls))
	}
	close(hold)
	if got, err := s.get(t.Context(), patience); err != nil || got.Reveal() != "late" {
		t.Errorf("afterwards: %v", err)
	}
}
