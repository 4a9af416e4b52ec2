package model

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/gate/budget"
	"github.com/agent-loop/ralph/internal/money"
)

// TestStreamIsNotBuffered: the upstream goes on only when the client has what
// it sent so far.
func TestStreamIsNotBuffered(t *testing.T) {
	next := make(chan struct{})
	r := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 5 {
			fmt.Fprintf(w, "data: {\"n\":%d}\n\n", i)
			http.NewResponseController(w).Flush()
			<-next
		}
	}), budget.Caps{})
	resp, err := r.client.Do(r.request(t, "POST", "/anthropic/v1/messages", message(testName, 10)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for i := range 5 {
		lines.Scan()
		if want := fmt.Sprintf(`data: {"n":%d}`, i); lines.Text() != want {
			t.Fatalf("line %q, want %q", lines.Text(), want)
		}
		lines.Scan()
		next <- struct{}{}
	}
}

// TestClientLeaves: the upstream is told, and the call stays counted in full.
func TestClientLeaves(t *testing.T) {
	left := make(chan struct{})
	r := start(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {}\n\n")
		http.NewResponseController(w).Flush()
		<-req.Context().Done()
		close(left)
	}), budget.Caps{USD: money.Dollar})
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := r.client.Do(r.request(t, "POST", "/anthropic/v1/messages", message(testName, 10)).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Read(make([]byte, 1))
	cancel()
	resp.Body.Close()
	select {
	case <-left:
	case <-time.After(patience):
		t.Fatal("the upstream still thinks that somebody listens")
	}
	if e := r.event(t); e.Reason != "the client went away" || !e.Charge.Uncertain {
		t.Errorf("event %+v %+v", e, e.Charge)
	}
}

// TestUpstreamDies: the client sees that the answer is not whole.
func TestUpstreamDies(t *testing.T) {
	r := start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {}\n\n")
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}), budget.Caps{})
	resp, err := r.client.Do(r.request(t, "POST", "/anthropic/v1/messages", message(testName, 10)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("read %q, %v; want an unexpected end", text, err)
	}
	if e := r.event(t); e.Code != CodeUpstream || !strings.HasPrefix(e.Reason, "the response was cut short") {
		t.Errorf("event %+v", e)
	}
}

// TestSilentUpstream is given up, before the head and in the middle.
func TestSilentUpstream(t *testing.T) {
	for name, first := range map[string]string{"before the head": "", "in the middle": "data: {}\n\n"} {
		t.Run(name, func(t *testing.T) {
			r := start(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				io.Copy(io.Discard, req.Body)
				if first != "" {
					io.WriteString(w, first)
					http.NewResponseController(w).Flush()
				}
				<-req.Context().Done()
			}), budget.Caps{}, func(c *Config) { c.Limits.IdleTimeout = 50 * time.Millisecond })
			resp, err := r.client.Do(r.request(t, "POST", "/anthropic/v1/messages", message(testName, 10)))
			if err == nil {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			if e := r.event(t); !strings.Contains(e.Reason, "sent nothing for too long") || !e.Charge.Uncertain {
				t.Errorf("event %+v %+v", e, e.Charge)
			}
		})
	}
}

func TestTooLargeARequest(t *testing.T) {
	r := start(t, says(200, answer(1, 1)), budget.Caps{}, func(c *Config) { c.Limits.BodyBytes = 1000 })
	body := message(strings.Repeat("x", 2000), 1)
	for name, reader := range map[string]io.Reader{"told": bytes.NewReader([]byte(body)), "chunked": io.MultiReader(strings.NewReader(body))} {
		t.Run(name, func(t *testing.T) {
			req := r.request(t, "POST", "/anthropic/v1/messages", "")
			req.Body, req.ContentLength = io.NopCloser(reader), -1
			if name == "told" {
				req.ContentLength = int64(len(body))
			}
			resp, err := r.client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if e := r.event(t); resp.StatusCode != http.StatusRequestEntityTooLarge || e.Code != CodeTooLarge {
				t.Errorf("answer %s, event %+v", resp.Status, e)
			}
		})
	}
}

// TestEventsHoldNoSecrets: no header value, no query, no body, in either
// direction.
func TestEventsHoldNoSecrets(t *testing.T) {
	r := start(t, says(200, strings.Replace(answer(10, 5), `"hi"`, `"CANARY-ANSWER"`, 1), "X-Canary", "CANARY-RESPONSE-HEADER"), budget.Caps{})
	r.ask(t, "POST", "/anthropic/v1/messages?beta=CANARY-QUERY",
		strings.Replace(message(testName, 10), "hello", "CANARY-PROMPT", 1), "X-App", "CANARY-HEADER")
	line, err := json.Marshal(r.event(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"CANARY", realKey, r.phantom.Reveal()} {
		if bytes.Contains(line, []byte(secret)) {
			t.Errorf("the event holds %q: %s", secret, line)
		}
	}
	var fields map[string]any
	if err := json.Unmarshal(line, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"time", "run", "rule", "host", "method", "path", "bytes_up", "bytes_down", "duration_ns", "credential", "charge"} {
		if fields[name] == nil {
			t.Errorf("no %s in %s", name, line)
		}
	}
}
