package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/gate/budget"
	"github.com/agent-loop/ralph/internal/gate/meter"
	"github.com/agent-loop/ralph/internal/money"
	"github.com/agent-loop/ralph/internal/secret"
	"github.com/agent-loop/ralph/internal/token"
)

const (
	realKey  = "sk-ant-api03-REAL-KEY-OF-THE-USER-0123456789"
	testName = "claude-sonnet-4-5"
	patience = 20 * time.Second
)

// rig is a whole gate with a model API behind it and an upstream of the test's.
type rig struct {
	api      *API
	ledger   *budget.Ledger
	phantom  secret.Secret
	base     string // of the gate
	client   *http.Client
	upstream *httptest.Server

	mu     sync.Mutex
	events []gate.Event
	logged chan struct{}
}

// staticSource has one credential.
type staticSource struct{ c token.Credential }

func (s staticSource) Token(context.Context) (token.Credential, error) { return s.c, nil }
func (s staticSource) Rejected(_ context.Context, old token.Credential) (token.Credential, error) {
	return old, errors.New("there is no newer one")
}

func key(k token.Kind) token.Source {
	return staticSource{token.Credential{Kind: k, Secret: secret.New(realKey)}}
}

// start serves all providers through a real gate on loopback. change may alter
// the configuration before.
func start(t testing.TB, upstream http.Handler, caps budget.Caps, change ...func(*Config)) *rig {
	t.Helper()
	server := httptest.NewUnstartedServer(upstream)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return startAt(t, server, caps, change...)
}

func startAt(t testing.TB, server *httptest.Server, caps budget.Caps, change ...func(*Config)) *rig {
	t.Helper()
	ledger, err := budget.Open(filepath.Join(t.TempDir(), "budget.jsonl"), caps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ledger.Close() })
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{ledger: ledger, phantom: NewPhantom(Anthropic, token.AnthropicKey), upstream: server, logged: make(chan struct{}, 4096)}
	c := Config{
		Upstreams: []Upstream{
			{Provider: Anthropic, URL: at, Phantom: r.phantom, Name: "claude", Source: key(token.AnthropicKey)},
			{Provider: OpenAI, URL: at, Phantom: r.phantom, Name: "codex", Source: key(token.OpenAIKey)},
			{Provider: Google, URL: at, Phantom: r.phantom, Name: "gemini", Source: key(token.GeminiKey)},
		},
		Ledger:    ledger,
		Run:       "run-1",
		Prices:    table(t),
		Transport: server.Client().Transport,
	}
	for _, f := range change {
		f(&c)
	}
	if r.api, err = New(c); err != nil {
		t.Fatal(err)
	}
	r.serve(t)
	return r
}

func (r *rig) serve(t testing.TB) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	proxy := gate.New(gate.Config{Run: "run-1", Origin: r.api, Log: r.note})
	go proxy.Serve(listener)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		proxy.Shutdown(ctx)
	})
	r.base = "http://" + listener.Addr().String()
	r.client = &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
}

func (r *rig) note(e gate.Event) {
	r.mu.Lock()
	r.events = append(r.events, e)
	r.mu.Unlock()
	r.logged <- struct{}{}
}

// event waits for the next event and returns it.
func (r *rig) event(t testing.TB) gate.Event {
	t.Helper()
	select {
	case <-r.logged:
	case <-time.After(patience):
		t.Fatal("no event")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.events[0]
	r.events = r.events[1:]
	return e
}

// ask sends a request to the gate with the phantom, unless headers say otherwise.
func (r *rig) ask(t testing.TB, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	resp, err := r.client.Do(r.request(t, method, path, body, headers...))
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: reading: %v", method, path, err)
	}
	return resp, string(text)
}

func (r *rig) request(t testing.TB, method, path, body string, headers ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", r.phantom.Reveal())
	for i := 0; i < len(headers); i += 2 {
		req.Header.Del(headers[i])
		if headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	return req
}

// message is a small call in Anthropic's shape.
func message(model string, maxTokens int) string {
	return fmt.Sprintf(`{"model":%q,"max_tokens":%d,"messages":[{"role":"user","content":"hello"}]}`, model, maxTokens)
}

// answer is a JSON response with usage figures.
func answer(input, output int) string {
	return fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":%q,"content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":%d,"output_tokens":%d}}`, testName, input, output)
}

// says is an upstream that answers every call so.
func says(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// worst is what a call holds.
func worst(t testing.TB, body string) money.USD {
	t.Helper()
	call, err := meter.ReadCall(meter.Anthropic, http.Header{"Content-Type": {"application/json"}}, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	price, ok := table(t).Find(call.Model)
	if !ok {
		t.Fatalf("no price for %q", call.Model)
	}
	return price.Worst(call)
}

// table is the built-in price table.
func table(t testing.TB) *meter.Prices {
	t.Helper()
	prices, err := meter.NewPrices()
	if err != nil {
		t.Fatal(err)
	}
	return prices
}
