package model

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/gate/budget"
	"github.com/agent-loop/ralph/internal/secret"
	"github.com/agent-loop/ralph/internal/token"
)

// sees tells whether the credential, in any form, is in what the client got.
func sees(resp *http.Response, body []byte) bool {
	return secret.NewGuard(secret.New(realKey)).SeenIn(fmt.Append(nil, resp.Header, resp.Trailer, string(body)))
}

// TestEchoIsRefused: an answer that begins with the credential, in whatever form,
// becomes a refusal that clients do not try again.
func TestEchoIsRefused(t *testing.T) {
	for name, echo := range map[string]func(r *http.Request) string{
		"JSON":   func(r *http.Request) string { return `{"headers":{"x-api-key":"` + r.Header.Get("X-Api-Key") + `"}}` },
		"base64": func(r *http.Request) string { return basic("key:" + r.Header.Get("X-Api-Key")) },
		"an event": func(r *http.Request) string {
			return "event: debug\ndata: {\"key\":\"" + r.Header.Get("X-Api-Key") + "\"}\n\n"
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { io.WriteString(w, echo(req)) }), budget.Caps{})
			for _, ask := range [][]string{{"GET", "/anthropic/v1/models", ""}, {"POST", "/anthropic/v1/messages", message(testName, 10)}} {
				resp, body := r.ask(t, ask[0], ask[1], ask[2])
				if resp.StatusCode != 502 || resp.Header.Get("X-Should-Retry") != "false" || sees(resp, []byte(body)) {
					t.Errorf("answer %s %v %s", resp.Status, resp.Header, body)
				}
				if e := r.event(t); e.Code != gate.CodeCredentialEchoed || e.Charge != nil && !e.Charge.Uncertain {
					t.Errorf("event %+v %+v", e, e.Charge)
				}
			}
		})
	}
}

func basic(login string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(login)) }

// TestEchoIsCut: a stream that has begun ends before the credential, and not as
// if it were whole. The call stays counted in full.
func TestEchoIsCut(t *testing.T) {
	for name, pieces := range map[string][]string{
		"an event":      {"event: debug\ndata: {\"key\":\"" + realKey + "\"}\n\n"},
		"in two chunks": {"data: {\"key\":\"" + realKey[:20], realKey[20:] + "\"}\n\n"},
		"byte by byte":  strings.Split(realKey, ""),
		"base64":        {"data: " + basic("x:"+realKey)},
		"far behind":    {strings.Repeat("data: {}\n\n", 50_000), realKey},
		"at the end":    {"data: {}\n\n" + realKey},
	} {
		t.Run(name, func(t *testing.T) {
			const first = "event: message_start\ndata: {}\n\n"
			read := make(chan struct{})
			r := start(t, sends(append([]string{first}, append(pieces, "AFTER")...), read), budget.Caps{})
			resp, err := r.client.Do(r.request(t, "POST", "/anthropic/v1/messages", message(testName, 10)))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			begun := make([]byte, len(first))
			if _, err := io.ReadFull(resp.Body, begun); err != nil || string(begun) != first {
				t.Errorf("first %q, %v", begun, err)
			}
			close(read)
			rest, err := io.ReadAll(resp.Body)
			if !errors.Is(err, io.ErrUnexpectedEOF) || sees(resp, rest) || bytes.Contains(rest, []byte(realKey[:8])) || bytes.Contains(rest, []byte("AFTER")) {
				t.Errorf("then %d bytes, ending with %q, %v", len(rest), rest[max(0, len(rest)-80):], err)
			}
			if e := r.event(t); e.Code != gate.CodeCredentialEchoed || !e.Charge.Uncertain {
				t.Errorf("event %+v %+v", e, e.Charge)
			}
		})
	}
}

// sends is an upstream that sends pieces, all but the first when it is told to.
func sends(pieces []string, more <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for i, piece := range pieces {
			if i == 1 {
				<-more
			}
			_, _ = io.WriteString(w, piece)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// TestEchoInAHeader: what holds the credential is left out, and the rest passes.
func TestEchoInAHeader(t *testing.T) {
	for _, status := range []int{200, 403} {
		r := start(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("X-Debug", "key="+req.Header.Get("X-Api-Key"))
			w.Header().Set("X-Basic", basic(":"+req.Header.Get("X-Api-Key")))
			w.Header()[realKey] = []string{"a name"}
			w.Header().Set("X-Other", "kept")
			w.Header().Set(http.TrailerPrefix+"X-Last", req.Header.Get("X-Api-Key"))
			says(status, `{"data":[]}`)(w, req)
		}), budget.Caps{})
		resp, body := r.ask(t, "GET", "/anthropic/v1/models", "")
		if resp.StatusCode != status || resp.Header.Get("X-Other") != "kept" || body != `{"data":[]}` || sees(resp, []byte(body)) || strings.Contains(strings.ToLower(fmt.Sprint(resp.Header)), strings.ToLower(realKey)) {
			t.Errorf("answer %s %v %s", resp.Status, resp.Header, body)
		}
		if e := r.event(t); e.Code != CodeMasked || !e.Allowed {
			t.Errorf("event %+v", e)
		}
	}
}

// TestEchoOfANewerCredential: the guard goes with the credential of the call.
func TestEchoOfANewerCredential(t *testing.T) {
	const newer = "sk-ant-oat01-the-one-that-came-later"
	r := start(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("X-Api-Key") == realKey {
			says(401, `{}`)(w, req)
			return
		}
		says(200, `{"key":"`+req.Header.Get("X-Api-Key")+`"}`)(w, req)
	}), budget.Caps{}, func(c *Config) { c.Upstreams[0].Source = rotating{newer} })
	for range 2 {
		if resp, body := r.ask(t, "GET", "/anthropic/v1/models", ""); resp.StatusCode != 502 || strings.Contains(body, newer) {
			t.Errorf("answer %s %s", resp.Status, body)
		}
		if e := r.event(t); e.Code != gate.CodeCredentialEchoed {
			t.Errorf("event %+v", e)
		}
	}
}

// rotating has the usual credential, and another one when that is rejected.
type rotating struct{ newer string }

func (rotating) Token(context.Context) (token.Credential, error) {
	return token.Credential{Kind: token.AnthropicKey, Secret: secret.New(realKey)}, nil
}

func (s rotating) Rejected(context.Context, token.Credential) (token.Credential, error) {
	return token.Credential{Kind: token.AnthropicKey, Secret: secret.New(s.newer)}, nil
}

// TestErrorCutAmidTheCredential: with a prompt of the right length, what a gateway
// quotes of a request ends where we stop reading. No part of the key passes.
func TestErrorCutAmidTheCredential(t *testing.T) {
	const most = 1000
	for _, shown := range []int{1, 20, len(realKey) - 1, len(realKey)} {
		text := strings.Repeat(".", most-shown) + realKey + " and more"
		r := start(t, says(400, text), budget.Caps{}, func(c *Config) { c.Limits.ErrorBytes = most })
		resp, body := r.ask(t, "GET", "/anthropic/v1/models", "")
		if resp.StatusCode != 400 || strings.Contains(body, realKey[:1]) || !strings.HasPrefix(body, strings.Repeat(".", most-shown)) {
			t.Errorf("with %d bytes of it: %s %s", shown, resp.Status, strings.TrimLeft(body, "."))
		}
	}
}

// TestSignalHoldsNoCredential: nor does what is kept of an error.
func TestSignalHoldsNoCredential(t *testing.T) {
	r := start(t, says(403, `{"error":{"type":"no access for `+realKey+`"}}`), budget.Caps{})
	r.ask(t, "GET", "/anthropic/v1/models", "")
	if s := r.api.State().Signals[Unauthorised]; !strings.HasPrefix(s.Detail, "no access for [redacted:") {
		t.Errorf("signal %+v", s)
	}
}

// TestEncodedAnswer: what cannot be read on its way does not pass. Of an error the
// status does, which tells clients what to do.
func TestEncodedAnswer(t *testing.T) {
	for status, want := range map[int]int{200: 502, 429: 429} {
		r := start(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(status)
			to := gzip.NewWriter(w)
			io.WriteString(to, req.Header.Get("X-Api-Key"))
			to.Close()
		}), budget.Caps{})
		resp, body := r.ask(t, "GET", "/anthropic/v1/models", "")
		if resp.StatusCode != want || strings.HasPrefix(body, "\x1f\x8b") || resp.Header.Get("Content-Encoding") != "" {
			t.Errorf("%d: answer %s %v %q", status, resp.Status, resp.Header, body)
		}
		if e := r.event(t); e.Code != gate.CodeResponseEncoded {
			t.Errorf("%d: event %+v", status, e)
		}
	}
}

// TestNoCredentialToEcho: a replay has none, and passes everything.
func TestNoCredentialToEcho(t *testing.T) {
	r := start(t, says(200, realKey), budget.Caps{}, func(c *Config) { c.Upstreams[0].Source = nil })
	if resp, body := r.ask(t, "GET", "/anthropic/v1/models", ""); resp.StatusCode != 200 || body != realKey {
		t.Errorf("answer %s %q", resp.Status, body)
	}
}
