package model

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/gate/budget"
	"github.com/agent-loop/ralph/internal/secret"
	"github.com/agent-loop/ralph/internal/token"
)

// TestGoogleSignals are in the bodies of errors, not in their headers.
func TestGoogleSignals(t *testing.T) {
	detail := func(kind, more string) string {
		return `{"@type":"type.googleapis.com/google.rpc.` + kind + `",` + more + `}`
	}
	fault := func(status string, details ...string) string {
		return `{"error":{"code":1,"message":"m","status":"` + status + `","details":[` + strings.Join(details, ",") + `]}}`
	}
	wait := detail("RetryInfo", `"retryDelay":"34.5s"`)
	for _, tt := range []struct {
		name   string
		status int
		body   string
		kind   Kind
		detail string
		wait   time.Duration // 0: not told
	}{
		{"a limit", 429, fault("RESOURCE_EXHAUSTED", wait), Limited, "RESOURCE_EXHAUSTED", 34500 * time.Millisecond},
		{"a limit without a time", 429, fault("RESOURCE_EXHAUSTED"), Limited, "RESOURCE_EXHAUSTED", 0},
		{"a joke of a time", 429, fault("RESOURCE_EXHAUSTED", detail("RetryInfo", `"retryDelay":"99999h"`)), Limited, "RESOURCE_EXHAUSTED", 0},
		{"a detail of another shape", 429, fault("RESOURCE_EXHAUSTED", `{"@type":7}`, `null`, wait), Limited, "RESOURCE_EXHAUSTED", 34500 * time.Millisecond},
		{"overloaded", 503, fault("UNAVAILABLE"), Overloaded, "UNAVAILABLE", 0},
		{"a wrong key", 400, fault("INVALID_ARGUMENT", detail("ErrorInfo", `"reason":"API_KEY_INVALID"`)), Unauthorised, "API_KEY_INVALID", 0},
		{"a blocked key", 403, fault("PERMISSION_DENIED", detail("ErrorInfo", `"reason":"API_KEY_SERVICE_BLOCKED"`)), Unauthorised, "API_KEY_SERVICE_BLOCKED", 0},
		{"our mistake", 400, fault("INVALID_ARGUMENT"), "", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := start(t, says(tt.status, tt.body), budget.Caps{})
			began := time.Now()
			resp, body := r.ask(t, "POST", geminiPath+":generateContent", geminiCall, r.asGoogle()...)
			if resp.StatusCode != tt.status || body != tt.body {
				t.Errorf("answer %s %q", resp.Status, body)
			}
			if e := r.event(t); e.Charge.Cost != 0 || e.Charge.Uncertain {
				t.Errorf("an error is charged: %+v", e.Charge)
			}
			s, ok := r.api.State().Signals[tt.kind]
			if ok != (tt.kind != "") || s.Detail != tt.detail || s.Until.IsZero() != (tt.wait == 0) {
				t.Errorf("signal %+v", s)
			}
			if off := s.Until.Sub(began.Add(tt.wait)); tt.wait != 0 && (off < 0 || off > patience) {
				t.Errorf("limited until %v, %v off", s.Until, off)
			}
		})
	}
}

// TestDailyQuota ends at midnight in California, whatever else is told.
func TestDailyQuota(t *testing.T) {
	f := readGoogleFault([]byte(`{"error":{"status":"RESOURCE_EXHAUSTED","details":[
		{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel"}]},
		{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"20s"}]}}`))
	for now, want := range map[string]string{
		"2026-11-15T07:59:00Z": "2026-11-15T08:00:00Z",
		"2026-11-15T08:00:00Z": "2026-11-16T08:00:00Z",
		"2026-11-15T22:00:00Z": "2026-11-16T08:00:00Z",
	} {
		at, _ := time.Parse(time.RFC3339, now)
		if got := f.until(at).Format(time.RFC3339); got != want {
			t.Errorf("at %s: until %s, want %s", now, got, want)
		}
	}
}

// twoKeys has a newer key after the first was refused.
type twoKeys struct{ refused chan string }

func (s twoKeys) Token(context.Context) (token.Credential, error) {
	return token.Credential{Kind: token.GeminiKey, Secret: secret.New("the-first-key")}, nil
}

func (s twoKeys) Rejected(_ context.Context, old token.Credential) (token.Credential, error) {
	s.refused <- old.Secret.Reveal()
	return token.Credential{Kind: token.GeminiKey, Secret: secret.New("the-second-key")}, nil
}

// TestRenewalOfAGoogleKey: a wrong key is a 400 there, and so is our mistake.
func TestRenewalOfAGoogleKey(t *testing.T) {
	const wrong = `{"error":{"code":400,"status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`
	for name, tt := range map[string]struct {
		fault  string
		status int
		asked  int
	}{
		"a wrong key": {wrong, 200, 1}, "our mistake": {`{"error":{"code":400,"status":"INVALID_ARGUMENT"}}`, 400, 0},
	} {
		t.Run(name, func(t *testing.T) {
			source := twoKeys{make(chan string, 4)}
			r := start(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if req.Header.Get("X-Goog-Api-Key") == "the-second-key" {
					says(200, geminiEnd)(w, req)
					return
				}
				says(400, tt.fault)(w, req)
			}), budget.Caps{}, func(c *Config) { c.Upstreams[2].Source = source })
			resp, body := r.ask(t, "POST", geminiPath+":generateContent", geminiCall, r.asGoogle()...)
			if resp.StatusCode != tt.status || len(source.refused) != tt.asked || tt.status == 400 && body != tt.fault {
				t.Errorf("answer %s %q, asked %d times", resp.Status, body, len(source.refused))
			}
		})
	}
}

// FuzzGoogleFault: whatever an error says, a limit ends in a time that can be
// waited for, or is not told.
func FuzzGoogleFault(f *testing.F) {
	f.Add([]byte(`{"error":{"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}`))
	f.Add([]byte(`{"error":{"status":"X","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"PerDay"}]},7,null]}}`))
	f.Add([]byte(`{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"-1h"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"9e9h"}]}}`))
	f.Add([]byte(`[]`))
	now := time.Now()
	f.Fuzz(func(t *testing.T, body []byte) {
		until := readGoogleFault(body).until(now)
		if !until.IsZero() && (!until.After(now) || until.After(now.Add(farthest))) {
			t.Errorf("%q: limited until %v", body, until)
		}
	})
}
