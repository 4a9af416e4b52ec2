package model

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agent-loop/ralph/internal/gate/budget"
	"github.com/agent-loop/ralph/internal/gate/meter"
	"github.com/agent-loop/ralph/internal/money"
)

// TestParallelCallsRaceTheCap: fifty calls at once, and money for the worst case
// of seven. Each comes to its worst case, so exactly seven pass.
func TestParallelCallsRaceTheCap(t *testing.T) {
	const calls, affordable = 50, 7
	body := message(testName, 1000)
	call, err := meter.ReadCall(meter.Anthropic, http.Header{"Content-Type": {"application/json"}}, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	price, _ := table(t).Find(testName)
	each := price.Cost(meter.Usage{Input: 3, Output: 1000})
	hold := price.Worst(call)
	// The cap fits seven worst cases on top of nothing, and no eighth after
	// seven have come to what they really cost.
	capUSD := each.Times(affordable - 1).Add(hold)
	var reached atomic.Int64
	r := start(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		reached.Add(1)
		says(200, answer(3, 1000))(w, req)
	}), budget.Caps{USD: capUSD})

	var passed, refused atomic.Int64
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			resp, text := r.ask(t, "POST", "/anthropic/v1/messages", body)
			switch {
			case resp.StatusCode == http.StatusOK:
				passed.Add(1)
			case resp.StatusCode == http.StatusForbidden && resp.Header.Get(codeHeader) == CodeBudgetSpent:
				refused.Add(1)
			default:
				t.Errorf("answer %s %q", resp.Status, text)
			}
		})
	}
	wg.Wait()
	totals, err := r.ledger.Totals()
	if err != nil {
		t.Fatal(err)
	}
	if passed.Load() != affordable || reached.Load() != affordable || refused.Load() != calls-affordable {
		t.Errorf("%d passed, %d reached the upstream, %d refused; want %d, %d, %d", passed.Load(), reached.Load(), refused.Load(), affordable, affordable, calls-affordable)
	}
	if totals.Spent.USD != each.Times(affordable) || totals.Committed().USD > capUSD {
		t.Errorf("totals %+v, cap %v", totals, capUSD)
	}
	if _, ok := r.api.State().Signals[BudgetSpent]; !ok {
		t.Error("no signal")
	}
}

// TestWaitingForCallsUnderWay: a call that would fit once another is settled is
// held back, not refused.
func TestWaitingForCallsUnderWay(t *testing.T) {
	body := message(testName, 1000)
	arrived, finish := make(chan struct{}, 2), make(chan struct{})
	r := start(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		arrived <- struct{}{}
		<-finish
		says(200, answer(1, 1))(w, req)
	}), budget.Caps{USD: worst(t, body) + money.Cent/10})
	done := make(chan int, 2)
	for range 2 {
		go func() {
			resp, err := r.client.Do(r.request(t, "POST", "/anthropic/v1/messages", body))
			if err != nil {
				done <- 0
				return
			}
			resp.Body.Close()
			done <- resp.StatusCode
		}()
	}
	<-arrived
	close(finish)
	if first, second := <-done, <-done; first != 200 || second != 200 {
		t.Errorf("answers %d and %d", first, second)
	}
}

// TestCharges: what an upstream does decides what is counted.
func TestCharges(t *testing.T) {
	body := message(testName, 1000)
	streamed := strings.Replace(body, "{", `{"stream":true,`, 1)
	price, _ := table(t).Find(testName)
	known := price.Cost(meter.Usage{Input: 30, Output: 7})
	const (
		begin = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"" + testName + "\",\"usage\":{\"input_tokens\":30,\"output_tokens\":1}}}\n\n"
		end   = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":7}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	)
	sse := func(text string, cut bool) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, text)
			if cut {
				http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			}
		}
	}
	for _, tt := range []struct {
		name      string
		upstream  http.HandlerFunc
		body      string
		cost      money.USD // -1: the worst case, uncertain
		connected bool
	}{
		{"JSON", says(200, answer(30, 7)), body, known, true},
		{"a stream", sse(begin+end, false), streamed, known, true},
		{"a stream that dies", sse(begin, true), streamed, -1, true},
		{"a stream without an end", sse(begin, false), streamed, -1, true},
		{"no usage", says(200, `{"content":[]}`), body, -1, true},
		{"absurd usage", says(200, answer(-30, 7)), body, -1, true},
		{"not JSON", says(200, `<html>`), body, -1, true},
		{"bad request", says(400, `{}`), body, 0, true},
		{"rate limit", says(429, `{}`), body, 0, true},
		{"server error", says(500, `{}`), body, 0, true},
		{"overloaded", says(529, `{}`), body, 0, true},
		{"a proxy's word about time", says(408, `{}`), body, -1, true},
		{"a proxy's word about the client", says(499, `{}`), body, -1, true},
		{"a conflict", says(409, `{}`), body, -1, true},
		{"a proxy's error", says(502, `{}`), body, -1, true},
		{"a proxy's time limit", says(504, `{}`), body, -1, true},
		{"a redirect", says(307, ``, "Location", "https://evil.example/"), body, -1, true},
		{"death before the answer", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, body, -1, true},
		{"nobody there", nil, body, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := start(t, tt.upstream, budget.Caps{USD: money.Dollar})
			if !tt.connected {
				r.upstream.Close()
			}
			resp, err := r.client.Do(r.request(t, "POST", "/anthropic/v1/messages", tt.body))
			if err == nil {
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			e := r.event(t)
			totals, err := r.ledger.Totals()
			if err != nil {
				t.Fatal(err)
			}
			if e.Charge == nil || e.Charge.Model != testName || e.Charge.Reserved != worst(t, tt.body) {
				t.Fatalf("event %+v %+v", e, e.Charge)
			}
			if tt.cost < 0 {
				if !e.Charge.Uncertain || e.Charge.Cost != e.Charge.Reserved || totals.Uncertain.USD != e.Charge.Reserved || totals.Spent.USD != 0 {
					t.Errorf("charge %+v, totals %+v; want the worst case", e.Charge, totals)
				}
				return
			}
			if e.Charge.Uncertain || e.Charge.Cost != tt.cost || totals.Spent.USD != tt.cost || totals.Uncertain.USD != 0 || totals.Held.USD != 0 {
				t.Errorf("charge %+v, totals %+v; want %v", e.Charge, totals, tt.cost)
			}
		})
	}
}

// TestUnknownModel is refused or priced at the dearest, by choice.
func TestUnknownModel(t *testing.T) {
	r := start(t, says(200, answer(1000, 1000)), budget.Caps{USD: 1000 * money.Dollar}, func(c *Config) { c.UnknownAtDearest = true })
	resp, _ := r.ask(t, "POST", "/anthropic/v1/messages", message("claude-of-tomorrow", 1000))
	e := r.event(t)
	dearest := table(t).Dearest()
	if want := dearest.Cost(meter.Usage{Input: 1000, Output: 1000}); resp.StatusCode != 200 || e.Charge.Cost != want || want == 0 {
		t.Errorf("answer %s, charge %+v, want %v", resp.Status, e.Charge, want)
	}
}

// TestBudgetRefusal is final to clients, and says what is left.
func TestBudgetRefusal(t *testing.T) {
	r := start(t, says(200, answer(1, 1)), budget.Caps{USD: money.Cent})
	resp, body := r.ask(t, "POST", "/anthropic/v1/messages", message(testName, 64000))
	if resp.StatusCode != 403 || resp.Header.Get(codeHeader) != CodeBudgetSpent || resp.Header.Get("X-Should-Retry") != "false" || !strings.Contains(body, "$0.01") {
		t.Errorf("answer %s %v %q", resp.Status, resp.Header, body)
	}
	if e := r.event(t); e.Code != CodeBudgetSpent || e.Allowed {
		t.Errorf("event %+v", e)
	}
}

// TestSteering tells the model how much is spent, only when asked to.
func TestSteering(t *testing.T) {
	bodies := make(chan string, 1)
	upstream := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		bodies <- string(body)
		says(200, answer(1, 1))(w, req)
	})
	for _, tt := range []struct {
		spent int64 // percent
		steer bool
		want  string
	}{
		{0, true, ""}, {79, true, ""}, {80, true, "80 %"}, {92, true, "90 %"}, {96, true, "95 %"}, {96, false, ""},
	} {
		t.Run(fmt.Sprint(tt.spent, tt.steer), func(t *testing.T) {
			r := start(t, upstream, budget.Caps{USD: 100 * money.Dollar}, func(c *Config) { c.Steer = tt.steer })
			amount := budget.Amount{USD: money.Dollar.Times(tt.spent)}
			if hold, err := r.ledger.Reserve(t.Context(), budget.Claim{Amount: amount}); err != nil || hold.Settle(amount) != nil {
				t.Fatal(err)
			}
			r.ask(t, "POST", "/anthropic/v1/messages", message(testName, 10))
			var sent struct {
				Messages []struct{ Role, Content string }
			}
			body := <-bodies
			if err := json.Unmarshal([]byte(body), &sent); err != nil || sent.Messages[0].Content != "hello" {
				t.Fatalf("%v: %s", err, body)
			}
			last := sent.Messages[len(sent.Messages)-1]
			if tt.want == "" && len(sent.Messages) != 1 || tt.want != "" && (last.Role != "user" || !strings.Contains(last.Content, tt.want)) {
				t.Errorf("sent %s", body)
			}
		})
	}
}

// TestSteeringKeepsTheRest in all shapes.
func TestSteeringKeepsTheRest(t *testing.T) {
	for api, tt := range map[meter.API][2]string{
		meter.Anthropic:       {`{"b":1,"messages":[{"role":"user","content":"x"}],"a":0.10}`, `{"a":0.10,"b":1,"messages":[{"role":"user","content":"x"},{"content":"T","role":"user"}]}`},
		meter.OpenAIChat:      {`{"messages":[]}`, `{"messages":[{"content":"T","role":"user"}]}`},
		meter.OpenAIResponses: {`{"input":[{"x":1}]}`, `{"input":[{"x":1},{"content":[{"text":"T","type":"input_text"}],"role":"user","type":"message"}]}`},
		meter.Google:          {`{"contents":[{"x":1}]}`, `{"contents":[{"x":1},{"parts":[{"text":"T"}],"role":"user"}]}`},
	} {
		got, err := appendText(api, []byte(tt[0]), "T")
		if err != nil || string(got) != tt[1] {
			t.Errorf("%s: %s, %v; want %s", api, got, err, tt[1])
		}
	}
	if got, err := appendText(meter.OpenAIResponses, []byte(`{"input":"a question"}`), "T"); err != nil || string(got) != `{"input":"a question"}` {
		t.Errorf("%s, %v", got, err)
	}
}
