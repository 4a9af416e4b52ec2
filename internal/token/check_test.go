package token

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/secret"
)

const checked = "sk-ant-oat01-checked-aaaaaaaaaaaaaaaa"

func TestLocal(t *testing.T) {
	now := time.Now()
	record := func(change func(*Record)) Record {
		r := Record{Agent: "claude", Kind: ClaudeLogin, Secret: secret.New(checked), ExpiresAt: now.Add(100 * time.Hour)}
		change(&r)
		return r
	}
	renewable := func(r *Record) { r.Refresh = secret.New(firstRefresh) }
	for _, test := range []struct {
		name   string
		r      Record
		state  State
		days   int
		reason string
	}{
		{"four days left", record(func(*Record) {}), Valid, 4, ""},
		{"no known end", record(func(r *Record) { r.ExpiresAt = time.Time{} }), Valid, 0, ""},
		{"an hour left", record(func(r *Record) { r.ExpiresAt = now.Add(time.Hour) }), Valid, 0, ""},
		{"expired", record(func(r *Record) { r.ExpiresAt = now }), Invalid, 0, "it has expired on"},
		{"renewable", record(renewable), Valid, 0, "ralph renews it"},
		{"expired but renewable", record(func(r *Record) { renewable(r); r.ExpiresAt = now }), Valid, 0, "ralph renews it"},
		{"its refresh token spent", record(func(r *Record) { renewable(r); r.RefreshSent = now }), Valid, 4, "cannot be renewed"},
		{"and expired", record(func(r *Record) { renewable(r); r.RefreshSent, r.ExpiresAt = now, now }), Invalid, 0, "it has expired on"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Local(test.r, now)
			if got.State != test.state || got.DaysLeft != test.days || !strings.Contains(got.Reason, test.reason) || (test.reason == "") != (got.Reason == "") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// The question goes where the kind says, with the headers of the kind.
func TestCheckAsks(t *testing.T) {
	for _, test := range []struct {
		kind         Kind
		line         string
		header, want string
		beta         string
	}{
		{SetupToken, "POST /base/v1/messages", "Authorization", "Bearer " + checked, oauthBeta},
		{ClaudeLogin, "POST /base/v1/messages", "Authorization", "Bearer " + checked, oauthBeta},
		{AnthropicKey, "GET /base/v1/models", "X-Api-Key", checked, ""},
		{OpenAIKey, "GET /base/v1/models", "Authorization", "Bearer " + checked, ""},
		{GeminiKey, "GET /base/v1beta/models", "X-Goog-Api-Key", checked, ""},
		{Bearer, "GET /base/v1/models", "Authorization", "Bearer " + checked, ""},
	} {
		t.Run(string(test.kind), func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if got := r.Method + " " + r.URL.Path; got != test.line || r.URL.RawQuery != "" {
					t.Errorf("asked %s?%s, want %s", got, r.URL.RawQuery, test.line)
				}
				if got := r.Header.Get(test.header); got != test.want {
					t.Errorf("%s is %q", test.header, got)
				}
				if r.Header.Get("Anthropic-Version") != "2023-06-01" || r.Header.Get("Anthropic-Beta") != test.beta {
					t.Errorf("headers %v", r.Header)
				}
				if asks := strings.Contains(string(body), `"max_tokens":1,`); asks != (r.Method == http.MethodPost) {
					t.Errorf("body %s", body)
				}
			}))
			defer server.Close()
			r := Record{Kind: test.kind, Secret: secret.New(checked)}
			if got := Check(t.Context(), r, server.Client(), server.URL+"/base/"); got.State != Valid {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestCheckJudges(t *testing.T) {
	limited := map[string]string{"Anthropic-Ratelimit-Unified-Status": "rejected"}
	for _, test := range []struct {
		name   string
		code   int
		header map[string]string
		body   string
		state  State
		reason string
	}{
		{"taken", 200, nil, "", Valid, ""},
		{"unauthorised", 401, nil, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, Invalid, `the provider answered 401: "invalid x-api-key"`},
		{"forbidden", 403, nil, "<html>", Invalid, "the provider answered 403"},
		{"quoted back", 401, nil, `{"error":{"message":"bad key ` + checked + `\u001b[1m"}}`, Invalid, `bad key [redacted:`},
		{"Gemini's 401", 400, nil, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key."}}`, Invalid, "API key not valid"},
		{"a limit that is its own", 429, limited, "", Valid, "rate limit is used up"},
		{"anybody's limit", 429, nil, "", Unchecked, "answered 429"},
		{"bad request", 400, nil, "", Unchecked, "answered 400"},
		{"not found", 404, nil, "", Unchecked, "answered 404"},
		{"failure", 500, nil, "", Unchecked, "answered 500"},
		{"elsewhere", 302, map[string]string{"Location": "/other"}, "", Unchecked, "answered 302"},
		{"a long complaint", 401, nil, `{"error":{"message":"` + strings.Repeat("ü", 5000) + `"}}`, Invalid, `..."`},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/other" {
					t.Error("it followed elsewhere")
				}
				for name, value := range test.header {
					w.Header().Set(name, value)
				}
				w.WriteHeader(test.code)
				_, _ = io.WriteString(w, test.body)
			}))
			defer server.Close()
			got := Check(t.Context(), Record{Kind: SetupToken, Secret: secret.New(checked)}, nil, server.URL)
			if got.State != test.state || !strings.Contains(got.Reason, test.reason) || len(got.Reason) > 400 {
				t.Errorf("got %+v", got)
			}
			if strings.Contains(got.Reason, checked) || strings.ContainsRune(got.Reason, 0x1b) {
				t.Errorf("the reason is %q", got.Reason)
			}
		})
	}
}

// A provider that cannot be asked says nothing about the credential, and some
// are not asked at all.
func TestCheckCannotAsk(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	for upstream, reason := range map[string]string{
		"http://" + gone.Addr().String(): "connection refused",
		"http://example.com":             "not sent to example.com without encryption",
		"https://u:p@example.com":        "a host and a path only",
		"ftp://example.com":              "not an http or https address",
		"":                               "nobody said",
	} {
		got := Check(t.Context(), Record{Kind: Bearer, Secret: secret.New(checked)}, nil, upstream)
		if got.State != Unchecked || !strings.Contains(got.Reason, reason) {
			t.Errorf("%q: got %+v", upstream, got)
		}
	}
	expired := Record{Kind: SetupToken, Secret: secret.New(checked), ExpiresAt: time.Now().Add(-time.Hour)}
	if got := Check(t.Context(), expired, nil, "http://"+gone.Addr().String()); got.State != Invalid {
		t.Errorf("expired: got %+v", got)
	}
}
