package gate

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/secret"
)

// TestOpenedUpstreamFails tells the client what is wrong, without describing the
// host's network, and never asks twice.
func TestOpenedUpstreamFails(t *testing.T) {
	t.Run("its certificate is for nobody we know", func(t *testing.T) {
		upstream := &seen{}
		r := startOpenRig(t, openOptions{handler: upstream.ServeHTTP, credentials: []Credential{bearer()}, config: func(c *Config) { c.RootCAs = nil }})
		resp, body := r.do(t, "GET", "https://example.com/", nil)
		if resp.StatusCode != 502 || !strings.Contains(body, "certificate is not valid") || upstream.count() != 0 {
			t.Errorf("answer %s %q", resp.Status, body)
		}
		if e := r.inner(t); e.Status != 502 || !strings.Contains(e.Reason, "x509") || e.Credential != "token" {
			t.Errorf("event %+v", e)
		}
	})
	t.Run("its certificate is for another name", func(t *testing.T) {
		upstream := &seen{}
		r := startOpenRig(t, openOptions{handler: upstream.ServeHTTP, allow: []string{"example.org"}, credentials: []Credential{bearer(func(c *Credential) { c.Hosts = []string{"example.org"} })}})
		if resp, body := r.do(t, "GET", "https://example.org/", nil); resp.StatusCode != 502 || !strings.Contains(body, "certificate is not valid") || upstream.count() != 0 {
			t.Errorf("answer %s %q", resp.Status, body)
		}
	})
	t.Run("its address is private", func(t *testing.T) {
		r := startOpenRig(t, openOptions{handler: (&seen{}).ServeHTTP, allow: []string{"inside.test"}, credentials: []Credential{bearer(func(c *Credential) { c.Hosts = []string{"inside.test"} })}})
		resp, body := r.do(t, "GET", "https://inside.test/", nil)
		if resp.StatusCode != 403 || !strings.Contains(body, "10.0.0.1 is a private address") || len(r.board.dialled()) != 0 {
			t.Errorf("answer %s %q", resp.Status, body)
		}
		if e := r.inner(t); e.Allowed || e.Status != 403 {
			t.Errorf("event %+v", e)
		}
	})
	t.Run("it does not speak TLS", func(t *testing.T) {
		plain := listen(t, func(conn net.Conn) { io.WriteString(conn, "220 welcome\r\n") })
		r := startOpenRigOn(t, openOptions{credentials: []Credential{bearer()}}, nil, plain.Addr().String())
		if resp, body := r.do(t, "GET", "https://example.com/", nil); resp.StatusCode != 502 || !strings.Contains(body, "the upstream failed") {
			t.Errorf("answer %s %q", resp.Status, body)
		}
	})
	t.Run("it dies in the middle", func(t *testing.T) {
		for _, http1 := range []bool{false, true} {
			r := startOpenRig(t, openOptions{credentials: []Credential{bearer()}, http1: http1, handler: func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, "half")
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}})
			resp, err := r.httpClient(t).Get("https://example.com/")
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(resp.Body); err == nil || string(body) != "half" {
				t.Errorf("read %q, %v", body, err)
			}
			if e := r.inner(t); e.Reason != "the response was cut short" || e.BytesDown != 4 {
				t.Errorf("event %+v", e)
			}
		}
	})
	t.Run("it switches protocols", func(t *testing.T) {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\nraw")
			conn.Close()
		}))
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		defer server.Close()
		r := startOpenRigOn(t, openOptions{credentials: []Credential{bearer()}}, server, server.Listener.Addr().String())
		if resp, body := r.do(t, "GET", "https://example.com/", nil); resp.StatusCode != 502 {
			t.Errorf("answer %s %q", resp.Status, body)
		}
	})
}

// TestSourceFails never sends a request without its credential.
func TestSourceFails(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	for _, tt := range []struct {
		name   string
		source func(context.Context) (secret.Secret, error)
		reason string
	}{
		{"with an error", func(context.Context) (secret.Secret, error) {
			return secret.Secret{}, errors.New("the keyring is locked")
		}, "the keyring is locked"},
		{"with nothing", func(context.Context) (secret.Secret, error) { return secret.Secret{}, nil }, "empty"},
		{"with too little", fixedSource("1234567"), "fewer than 8"},
		{"with too much", fixedSource(strings.Repeat("x", maxSecret+1)), "more than"},
		{"with a line end", fixedSource("0123456789\r\nX: y"), "no header can"},
		{"by hanging", func(ctx context.Context) (secret.Secret, error) { <-ctx.Done(); return secret.Secret{}, ctx.Err() }, "deadline"},
		{"by hanging for good", func(context.Context) (secret.Secret, error) { <-hold; return secret.Secret{}, nil }, "deadline"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			upstream := &seen{}
			r := startOpenRig(t, openOptions{
				handler:     upstream.ServeHTTP,
				credentials: []Credential{bearer(func(c *Credential) { c.Source = tt.source })},
				config:      func(c *Config) { c.Limits = Limits{SourceTimeout: 20 * time.Millisecond} },
			})
			resp, body := r.do(t, "GET", "https://example.com/", nil)
			if resp.StatusCode != 502 || !strings.Contains(body, `the credential "token" is not available`) || strings.Contains(body, "keyring") {
				t.Errorf("answer %s %q", resp.Status, body)
			}
			if e := r.inner(t); e.Code != CodeCredentialUnavailable || !strings.Contains(e.Reason, tt.reason) || e.Credential != "token" || e.Status != 502 {
				t.Errorf("event %+v", e)
			}
			if upstream.count() != 0 {
				t.Error("the upstream got a request")
			}
		})
	}
}
