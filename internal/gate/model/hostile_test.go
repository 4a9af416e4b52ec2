package model

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agent-loop/ralph/internal/gate/budget"
	"github.com/agent-loop/ralph/internal/gate/meter"
	"github.com/agent-loop/ralph/internal/money"
)

// dial writes the start of a request to the gate, byte for byte.
func (r *rig) dial(t *testing.T, start ...string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := fmt.Fprint(conn, strings.Join(start, "\r\n")); err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestQueriesThatParsersReadTwoWays: what is dropped here while it is parsed may
// be a parameter to the upstream.
func TestQueriesThatParsersReadTwoWays(t *testing.T) {
	r := start(t, says(200, `{}`), budget.Caps{})
	for query, status := range map[string]int{
		"?limit=1":          200,
		"?limit=1;redirect": 403,
		"?limit=1&%zz=1":    403,
		"?%6cimit=1":        200, // the same name, spelled otherwise
	} {
		conn := r.dial(t, "GET /anthropic/v1/models"+query+" HTTP/1.1", "Host: gate", "X-Api-Key: "+r.phantom.Reveal(), "", "")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if e := r.event(t); resp.StatusCode != status || e.Allowed != (status == 200) {
			t.Errorf("%s: %s, event %+v", query, resp.Status, e)
		}
	}
}

// TestSlowBodies: requests whose bodies never end, and that claim all the memory
// there is, hold the others up for no longer than a body may take.
func TestSlowBodies(t *testing.T) {
	r := start(t, says(200, answer(1, 1)), budget.Caps{}, func(c *Config) {
		c.Limits = Limits{BodyBytes: 1 << 20, HeldBytes: 8 << 20, BodyTimeout: 100 * time.Millisecond}
	})
	for i := range 8 {
		conn := r.dial(t, "POST /anthropic/v1/messages HTTP/1.1", "Host: gate", "Content-Type: application/json",
			"X-Api-Key: "+r.phantom.Reveal(), "Transfer-Encoding: chunked", "", "1", "{", "")
		if i%2 == 0 {
			continue // not one byte more
		}
		go func() { // a byte now and then
			for {
				if _, err := fmt.Fprint(conn, "1\r\n \r\n"); err != nil {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
		}()
	}
	for range 8 {
		if e := r.event(t); e.Code != CodeBadRequest || !strings.Contains(e.Reason, "too long") {
			t.Errorf("event %+v", e)
		}
	}
	if resp, body := r.ask(t, "POST", "/anthropic/v1/messages", message(testName, 10)); resp.StatusCode != 200 {
		t.Errorf("answer %s %s", resp.Status, body)
	}
}

// TestBytesThatAreNotHeld: a body of unknown length claims the most that it may
// have, but only until it has come.
func TestBytesThatAreNotHeld(t *testing.T) {
	const calls = 3
	arrived, finish := make(chan struct{}, calls), make(chan struct{})
	r := start(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		arrived <- struct{}{}
		<-finish
		says(200, answer(1, 1))(w, req)
	}), budget.Caps{}, func(c *Config) { c.Limits = Limits{BodyBytes: 1 << 20, HeldBytes: 2 << 20} })
	for range calls {
		req := r.request(t, "POST", "/anthropic/v1/messages", message(testName, 10))
		req.ContentLength = -1
		go func() {
			if resp, err := r.client.Do(req); err == nil {
				resp.Body.Close()
			}
		}()
	}
	defer close(finish)
	for range calls {
		select {
		case <-arrived:
		case <-time.After(patience):
			t.Fatal("a call waits for bytes that nobody holds")
		}
	}
}

// TestBrokenLedgerWhileSteering is the host's trouble, and told to the user alone.
func TestBrokenLedgerWhileSteering(t *testing.T) {
	for _, steer := range []bool{false, true} {
		var path string
		r := start(t, says(200, answer(1, 1)), budget.Caps{USD: money.Dollar}, func(c *Config) {
			c.Steer = steer
			path = t.TempDir() + "/budget.jsonl"
			ledger, err := budget.Open(path, budget.Caps{USD: money.Dollar})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { ledger.Close() })
			c.Ledger = ledger
		})
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		resp, body := r.ask(t, "POST", "/anthropic/v1/messages", message(testName, 10))
		e := r.event(t)
		if resp.StatusCode != 500 || e.Code != CodeLedger || strings.Contains(body, path) || !strings.Contains(e.Reason, path) {
			t.Errorf("steer %v: answer %s %s, event %+v", steer, resp.Status, body, e)
		}
	}
}

// TestRegionalEndpoint: what OpenAI keeps in a region costs more, and no field of
// the request or the response tells.
func TestRegionalEndpoint(t *testing.T) {
	server := httptest.NewServer(says(200, `{"model":"gpt-5","status":"completed","usage":{"input_tokens":1000,"output_tokens":1000}}`))
	t.Cleanup(server.Close)
	body := `{"model":"gpt-5","max_output_tokens":1000,"input":"hello","service_tier":"default"}`
	call, err := meter.ReadCall(meter.OpenAIResponses, http.Header{"Content-Type": {"application/json"}}, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	price, _ := table(t).Find("gpt-5")
	for host, regional := range map[string]bool{"eu.api.openai.com": true, "US.api.openai.com": true, "api.openai.com": false, "gateway.example": false} {
		r := startAt(t, server, budget.Caps{}, func(c *Config) {
			c.Upstreams[1].URL = &url.URL{Scheme: "http", Host: host}
			c.Transport = &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
			}}
		})
		r.ask(t, "POST", "/openai/v1/responses", body)
		call.Regional = regional
		cost := price.Cost(meter.Usage{Input: 1000, Output: 1000, Regional: regional})
		if e := r.event(t); e.Charge == nil || e.Charge.Reserved != price.Worst(call) || e.Charge.Cost != cost {
			t.Errorf("%s: charge %+v, want %v of %v", host, e.Charge, cost, price.Worst(call))
		}
	}
}

// TestLongModelName is cut where it may be, and stays a text.
func TestLongModelName(t *testing.T) {
	r := start(t, says(200, answer(1, 1)), budget.Caps{}, func(c *Config) { c.UnknownAtDearest = true })
	r.ask(t, "POST", "/anthropic/v1/messages", message("x"+strings.Repeat("é", 200), 10))
	if e := r.event(t); e.Charge == nil || len(e.Charge.Model) < 100 || len(e.Charge.Model) > 128 || !utf8.ValidString(e.Charge.Model) {
		t.Errorf("charge %+v", e.Charge)
	}
}
