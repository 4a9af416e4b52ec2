package model

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/gate/budget"
)

// TestSignals: statuses and headers become states that a loop can wait on.
func TestSignals(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	in := func(d time.Duration) time.Time { return now.Add(d) }
	for _, tt := range []struct {
		name    string
		status  int
		body    string
		headers []string
		kind    Kind // empty: no signal
		until   time.Time
	}{
		{"limit with seconds", 429, `{}`, []string{"Retry-After", "120"}, Limited, in(2 * time.Minute)},
		{"limit with milliseconds", 429, `{}`, []string{"Retry-After-Ms", "90000"}, Limited, in(90 * time.Second)},
		{"limit with a date", 429, `{}`, []string{"Retry-After", in(time.Hour).UTC().Format(http.TimeFormat)}, Limited, in(time.Hour)},
		{"limit of a subscription", 429, `{}`, []string{
			"Anthropic-Ratelimit-Unified-Status", "rejected", "Anthropic-Ratelimit-Unified-Reset", unix(in(4 * time.Hour)),
			"Anthropic-Ratelimit-Unified-5h-Status", "rejected", "Anthropic-Ratelimit-Unified-5h-Reset", unix(in(4 * time.Hour)),
			"Anthropic-Ratelimit-Unified-7d-Status", "allowed", "Anthropic-Ratelimit-Unified-7d-Reset", unix(in(100 * time.Hour)),
		}, Limited, in(4 * time.Hour)},
		{"limit without a time", 429, `{}`, nil, Limited, time.Time{}},
		{"a joke of a time", 429, `{}`, []string{"Retry-After", "99999999999"}, Limited, time.Time{}},
		{"a negative time", 429, `{}`, []string{"Retry-After", "-5"}, Limited, time.Time{}},
		{"no money left, OpenAI", 429, `{"error":{"type":"insufficient_quota","code":"insufficient_quota"}}`, []string{"Retry-After", "1"}, Unfunded, time.Time{}},
		{"no money left, by status", 402, `{}`, nil, Unfunded, time.Time{}},
		{"overloaded", 529, `{"type":"error","error":{"type":"overloaded_error"}}`, nil, Overloaded, time.Time{}},
		{"unavailable for a while", 503, `{}`, []string{"Retry-After", "30"}, Overloaded, in(30 * time.Second)},
		{"wrong key", 401, `{}`, nil, Unauthorised, time.Time{}},
		{"revoked", 403, `{}`, nil, Unauthorised, time.Time{}},
		{"our mistake", 400, `{}`, nil, "", time.Time{}},
		{"their mistake", 500, `{}`, nil, "", time.Time{}},
		{"hostile body", 429, `{"error":{"code":{"a":[]},"type":7}}`, nil, Limited, time.Time{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			told := make(chan Signal, 1)
			r := start(t, says(tt.status, tt.body, tt.headers...), budget.Caps{}, func(c *Config) { c.Signal = func(s Signal) { told <- s } })
			resp, body := r.ask(t, "POST", "/anthropic/v1/messages", message(testName, 10))
			if resp.StatusCode != tt.status || body != tt.body {
				t.Errorf("answer %s %q", resp.Status, body)
			}
			if tt.kind == "" {
				if len(told) != 0 || len(r.api.State().Signals) != 0 {
					t.Errorf("signals %+v", r.api.State().Signals)
				}
				return
			}
			s := <-told
			if s.Kind != tt.kind || s.Status != tt.status || s.Provider != Anthropic || tt.until.IsZero() != s.Until.IsZero() {
				t.Errorf("signal %+v, want %s until %v", s, tt.kind, tt.until)
			}
			if off := s.Until.Sub(tt.until).Abs(); !tt.until.IsZero() && off > patience {
				t.Errorf("until %v, want %v", s.Until, tt.until)
			}
			if r.api.State().Signals[tt.kind] != s {
				t.Errorf("state %+v", r.api.State())
			}
		})
	}
}

// TestSuccessTakesASignalBack, and tells how much of the limits is used.
func TestSuccessTakesASignalBack(t *testing.T) {
	limited := true
	r := start(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if limited {
			says(429, `{}`, "Retry-After", "5")(w, req)
			return
		}
		says(200, answer(1, 1), "Anthropic-Ratelimit-Unified-5h-Utilization", "0.83", "Anthropic-Ratelimit-Unified-5h-Status", "allowed_warning",
			"Anthropic-Ratelimit-Tokens-Remaining", "1200", "X-Codex-Primary-Used-Percent", "41.5")(w, req)
	}), budget.Caps{})
	r.ask(t, "POST", "/anthropic/v1/messages", message(testName, 10))
	if len(r.api.State().Signals) != 1 {
		t.Fatalf("state %+v", r.api.State())
	}
	limited = false
	r.ask(t, "POST", "/anthropic/v1/messages", message(testName, 10))
	state := r.api.State()
	usage := state.Usage[Anthropic]
	if len(state.Signals) != 0 || usage["5h"].Used != 0.83 || usage["5h"].Status != "allowed_warning" || usage["tokens"].Left != 1200 || usage["primary"].Used != 0.415 {
		t.Errorf("state %+v", state)
	}
}

func unix(t time.Time) string { return fmt.Sprint(t.Unix()) }

// FuzzWindows: whatever an upstream's headers say, a limit ends in a time that
// can be waited for, or is not told.
func FuzzWindows(f *testing.F) {
	f.Add("Anthropic-Ratelimit-Unified-5h-Reset", "1789000000", "120")
	f.Add("X-Ratelimit-Reset-Tokens", "6m0s", "Wed, 21 Oct 2026 07:28:00 GMT")
	f.Add("X-Codex-Primary-Reset-After-Seconds", "1e300", "NaN")
	now := time.Now()
	f.Fuzz(func(t *testing.T, name, value, after string) {
		h := http.Header{}
		h.Set(name, value)
		h.Set("Retry-After", after)
		windows := readWindows(h, now)
		until := limitedUntil(h, windows, now)
		if !until.IsZero() && (until.After(now.Add(farthest+time.Second)) || until.Before(now.Add(-farthest-time.Second))) {
			t.Errorf("%q %q %q: limited until %v", name, value, after, until)
		}
	})
}
