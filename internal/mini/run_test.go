package mini_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/mini"
	"github.com/agent-loop/ralph/internal/modeltest"
	"github.com/agent-loop/ralph/internal/secret"
)

func TestTextTurn(t *testing.T) {
	server := modeltest.New(t, modeltest.Say("all done \x1b[31m\u202e").Uses(modeltest.Usage{Input: 7, CacheRead: 3, CacheWrite: 2, Output: 5}))
	r := do(t, t.Context(), optionsFor(t, server))
	r.want(t, mini.Done, 0)
	if r.types() != "init usage text result" || r.of("text")[0].Text != "all done \uFFFD[31m\uFFFD" {
		t.Errorf("%s, %+v", r.types(), r.of("text"))
	}
	if (r.Usage != mini.Usage{Input: 7, CacheRead: 3, CacheWrite: 2, Output: 5}) || r.Turns != 1 {
		t.Errorf("%+v", r.Result)
	}
}

func TestToolTurns(t *testing.T) {
	server := modeltest.New(t,
		modeltest.Shell("echo one >file; echo to-stderr >&2; exit 3"),
		modeltest.Shell("cat file; env | grep -c ^ANTHROPIC_API_KEY="),
		modeltest.Say("done"))
	options := optionsFor(t, server)
	options.Environ = append(options.Environ, "ANTHROPIC_API_KEY=phantom")
	r := do(t, t.Context(), options)
	r.want(t, mini.Done, 0)
	if r.types() != "init usage tool_call tool_result usage tool_call tool_result usage text result" {
		t.Error(r.types())
	}
	results := r.of("tool_result")
	if results[0].ExitCode != 3 || results[0].OK || results[0].Output != "to-stderr\n\n[exit code 3]" {
		t.Errorf("%+v", results[0])
	}
	if results[1].Output != "one\n0\n\n[exit code 1]" {
		t.Errorf("the second command does not see the first one's file, or sees a credential: %+v", results[1])
	}
	if last := string(server.Calls()[2].Body); !strings.Contains(last, "to-stderr") || !strings.Contains(last, `"tool_use_id":"toolu_01"`) {
		t.Errorf("the model did not get the result: %s", last)
	}
}

// TestCacheMarks: one mark on the system prompt and one on the newest message,
// never more, so that each call reads what the one before has written.
func TestCacheMarks(t *testing.T) {
	server := modeltest.New(t, modeltest.Shell("true"), modeltest.Shell("true"), modeltest.Say("done"))
	do(t, t.Context(), optionsFor(t, server)).want(t, mini.Done, 0)
	for i, call := range server.Calls() {
		var body struct {
			System   []map[string]any `json:"system"`
			Messages []struct {
				Content []map[string]any `json:"content"`
			} `json:"messages"`
		}
		if err := json.Unmarshal(call.Body, &body); err != nil {
			t.Fatal(err)
		}
		last := body.Messages[len(body.Messages)-1].Content
		if n := bytes.Count(call.Body, []byte(`"cache_control"`)); n != 2 || body.System[0]["cache_control"] == nil || last[len(last)-1]["cache_control"] == nil {
			t.Errorf("call %d has %d marks: %s", i, n, call.Body)
		}
	}
}

func TestMaxTurns(t *testing.T) {
	server := modeltest.New(t, modeltest.Shell("true").Forever())
	options := optionsFor(t, server)
	options.MaxTurns = 3
	r := do(t, t.Context(), options)
	r.want(t, mini.MaxTurns, 3)
	if r.Turns != 3 || len(server.Calls()) != 3 {
		t.Errorf("%d turns, %d calls", r.Turns, len(server.Calls()))
	}
}

// TestContextIsKeptInBounds: old output is cut when much of the window is used,
// and the run ends before a call that would not fit.
func TestContextIsKeptInBounds(t *testing.T) {
	var script []modeltest.Turn
	for range 8 {
		script = append(script, modeltest.Shell("yes 0123456789 | head -c 30000"))
	}
	script = append(script,
		modeltest.Shell("true").Uses(modeltest.Usage{Input: 130_000, Output: 10}),
		modeltest.Shell("true").Uses(modeltest.Usage{Input: 60_000, CacheRead: 139_000, Output: 10}))
	server := modeltest.New(t, script...)
	r := do(t, t.Context(), optionsFor(t, server))
	r.want(t, mini.ContextFull, 3)
	if cut := r.of("shortened"); len(cut) == 0 || cut[0].Results != 3 { // of nine, all but six
		t.Errorf("%+v", cut)
	}
	calls := server.Calls()
	if before, after := len(calls[8].Body), len(calls[9].Body); after > before-3*25_000 {
		t.Errorf("a call of %d bytes came after one of %d", after, before)
	}
}

func TestRefusedCalls(t *testing.T) {
	failed := func(status int, headers ...string) modeltest.Turn {
		return modeltest.Refuse(status, modeltest.AnthropicError("some_error", "because\x00 so"), headers...)
	}
	tests := []struct {
		name   string
		turn   modeltest.Turn
		reason mini.Reason
		exit   int
		calls  int
	}{
		{"budget", failed(403, "X-Ralph-Code", "budget_spent"), mini.BudgetSpent, 3, 1},
		{"budget with a wish to retry", failed(403, "X-Ralph-Code", "budget_spent", "X-Should-Retry", "true", "Retry-After", "1"), mini.BudgetSpent, 3, 1},
		{"forbidden", failed(403), mini.Unauthorised, 4, 1},
		{"not authorised", failed(401), mini.Unauthorised, 4, 1},
		{"bad request", failed(400), mini.InvalidRequest, 1, 1},
		{"too long", modeltest.Refuse(400, modeltest.AnthropicError("invalid_request_error", "prompt is too long: 9 > 8")), mini.ContextFull, 3, 1},
		{"rate limit", failed(429), mini.RateLimited, 1, 4},
		{"rate limit for hours", failed(429, "Retry-After", "7200"), mini.RateLimited, 1, 1},
		{"overloaded", failed(529), mini.Overloaded, 1, 4},
		{"broken", failed(500), mini.ProviderError, 1, 4},
		{"broken for good", failed(502, "X-Should-Retry", "false"), mini.ProviderError, 1, 1},
		{"not JSON", modeltest.Refuse(503, "<html>\xff"), mini.ProviderError, 1, 4},
		{"redirect", modeltest.Refuse(307, "", "Location", "http://elsewhere.invalid/"), mini.ProviderError, 1, 1},
		{"dropped", modeltest.Say("half").Dropped(), mini.Network, 1, 4},
		{"garbled", modeltest.Say("half").Garbled(), mini.Network, 1, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := modeltest.New(t, tt.turn.Forever())
			r := do(t, t.Context(), optionsFor(t, server))
			r.want(t, tt.reason, tt.exit)
			if n := len(server.Calls()); n != tt.calls || len(r.of("retry")) != tt.calls-1 {
				t.Errorf("%d calls, want %d: %s", n, tt.calls, r.types())
			}
		})
	}
}

// TestRetriesHelp: a call that works in the end leaves no trace of the half
// answers before.
func TestRetriesHelp(t *testing.T) {
	server := modeltest.New(t,
		modeltest.Refuse(529, ""), modeltest.Shell("echo ran >>file").Dropped(), modeltest.Shell("echo ran >>file; cat file"), modeltest.Say("done"))
	r := do(t, t.Context(), optionsFor(t, server))
	r.want(t, mini.Done, 0)
	if results := r.of("tool_result"); len(results) != 1 || results[0].Output != "ran\n" || r.Turns != 2 {
		t.Errorf("%d turns, %+v", r.Turns, results)
	}
}

func TestRetryAfterIsObeyed(t *testing.T) {
	server := modeltest.New(t, modeltest.Refuse(429, "", "Retry-After", "1"), modeltest.Say("done"))
	r := do(t, t.Context(), optionsFor(t, server))
	r.want(t, mini.Done, 0)
	if r.of("retry")[0].WaitMS != 1000 || r.took.Seconds() < 1 {
		t.Errorf("%+v after %v", r.of("retry"), r.took)
	}
}

func TestInterrupt(t *testing.T) {
	for name, turn := range map[string]modeltest.Turn{"in a call": modeltest.Say("slow").Stalled(), "in a command": modeltest.Shell("sleep 600")} {
		t.Run(name, func(t *testing.T) {
			server := modeltest.New(t, turn)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				server.Await(1)
				cancel()
			}()
			do(t, ctx, optionsFor(t, server)).want(t, mini.Interrupted, 130)
		})
	}
}

func TestMisconfigured(t *testing.T) {
	server := modeltest.New(t)
	tests := map[string]func(*mini.Options){
		"no address":      func(o *mini.Options) { o.Access.BaseURL = "" },
		"no URL":          func(o *mini.Options) { o.Access.BaseURL = "gate:80" },
		"no key":          func(o *mini.Options) { o.Access.Credential = secret.Secret{} },
		"no prompt":       func(o *mini.Options) { o.In = strings.NewReader(" \n") },
		"a vast prompt":   func(o *mini.Options) { o.In = strings.NewReader(strings.Repeat("x", mini.MaxPrompt+1)) },
		"negative turns":  func(o *mini.Options) { o.MaxTurns = -1 },
		"too much output": func(o *mini.Options) { o.MaxOutputTokens = mini.DefaultWindow },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			options := optionsFor(t, server)
			spoil(&options)
			do(t, t.Context(), options).want(t, mini.Misconfigured, 2)
		})
	}
	if len(server.Requests()) != 0 {
		t.Error("something was sent")
	}
}

// TestAccess: which variable counts, and how the credential is shown.
func TestAccess(t *testing.T) {
	const key, bearer, oauth = "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"
	tests := []struct {
		env                         map[string]string
		apiKey, authorisation, beta string
	}{
		{map[string]string{key: "k"}, "k", "", ""},
		{map[string]string{key: "k", oauth: "o"}, "k", "", ""},
		{map[string]string{key: "", bearer: "b", oauth: "o"}, "", "Bearer b", ""},
		{map[string]string{oauth: "o"}, "", "Bearer o", "oauth-2025-04-20"},
	}
	for _, tt := range tests {
		t.Setenv("ANTHROPIC_API_KEY", "a stray one") // the SDK would read it
		server := modeltest.New(t, modeltest.Say("done"))
		options := optionsFor(t, server)
		tt.env["ANTHROPIC_BASE_URL"] = server.URL
		options.Access = mini.AccessFrom(func(name string) string { return tt.env[name] })
		do(t, t.Context(), options).want(t, mini.Done, 0)
		h := server.Calls()[0].Header
		if h.Get("X-Api-Key") != tt.apiKey || h.Get("Authorization") != tt.authorisation || h.Get("Anthropic-Beta") != tt.beta {
			t.Errorf("with %v came %v", tt.env, h)
		}
	}
}

type brokenWriter struct{ left int }

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, errors.New("broken pipe")
	}
	return len(p), nil
}

// TestNobodyListens: an agent whose events are lost does not go on spending.
func TestNobodyListens(t *testing.T) {
	server := modeltest.New(t, modeltest.Shell("true").Forever())
	options := optionsFor(t, server)
	options.Out = &brokenWriter{left: 2}
	if _, err := mini.Run(t.Context(), options); err == nil || len(server.Calls()) != 1 {
		t.Errorf("%v after %d calls", err, len(server.Calls()))
	}
}

// answers is a model that answers with raw streams, for what no script has.
func answers(t *testing.T, streams ...string) (url string, bodies *[]string) {
	bodies = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		stream := streams[min(len(*bodies), len(streams)-1)]
		*bodies = append(*bodies, body.String())
		_, _ = w.Write([]byte(stream))
	}))
	t.Cleanup(server.Close)
	return server.URL, bodies
}

// sse is the stream of an answer of these blocks, given as their start.
func sse(stop string, blocks ...string) string {
	var b strings.Builder
	add := func(kind, data string) { b.WriteString("event: " + kind + "\ndata: " + data + "\n\n") }
	add("message_start", `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`)
	for i, block := range blocks {
		index := string(rune('0' + i))
		add("content_block_start", `{"type":"content_block_start","index":`+index+`,"content_block":`+block+`}`)
		add("content_block_stop", `{"type":"content_block_stop","index":`+index+`}`)
	}
	add("message_delta", `{"type":"message_delta","delta":{"stop_reason":"`+stop+`","stop_sequence":null},"usage":{"output_tokens":1}}`)
	add("message_stop", `{"type":"message_stop"}`)
	return b.String()
}

func toolUse(name, input string) string {
	return `{"type":"tool_use","id":"t","name":"` + name + `","input":` + input + `}`
}

// TestOddAnswers: what a model may do beside text and good commands.
func TestOddAnswers(t *testing.T) {
	done := sse("end_turn", `{"type":"text","text":"done"}`)
	tests := []struct {
		name, first string
		reason      mini.Reason
		exit        int
		told        string // what the second call tells the model
	}{
		{"refusal", sse("refusal"), mini.Refused, 4, ""},
		{"window exceeded", sse("model_context_window_exceeded"), mini.ContextFull, 3, ""},
		{"nothing said", sse("end_turn"), mini.Done, 0, ""},
		{"text cut off", sse("max_tokens", `{"type":"text","text":"ha"}`), mini.Done, 0, "cut off"},
		{"nothing but thought", sse("max_tokens"), mini.Done, 0, "cut off"},
		{"command cut off", sse("max_tokens", toolUse("bash", `{"command":"touch x"}`)), mini.Done, 0, "not run: the call was cut off"},
		{"unknown tool", sse("tool_use", toolUse("edit", `{}`)), mini.Done, 0, "there is no tool"},
		{"no command", sse("tool_use", toolUse("bash", `{}`)), mini.Done, 0, "the command is empty"},
		{"wrong type", sse("tool_use", toolUse("bash", `{"command":["ls"]}`)), mini.Done, 0, "the input is not"},
		{"NUL in the command", sse("tool_use", toolUse("bash", `{"command":"echo \u0000"}`)), mini.Done, 0, "could not be run"},
		{"two commands", sse("tool_use", toolUse("bash", `{"command":"echo a-$((1+1))"}`), toolUse("bash", `{"command":"echo b-$((1+1))"}`)), mini.Done, 0, "b-2"},
		{"error in the stream", "event: error\ndata: " + modeltest.AnthropicError("overloaded_error", "busy") + "\n\n", mini.Done, 0, ""},
		{"stream without an end", strings.SplitAfter(done, "content_block_stop")[0] + "\n\n", mini.Done, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url, bodies := answers(t, tt.first, done)
			options := optionsFor(t, modeltest.New(t))
			options.Access.BaseURL = url
			do(t, t.Context(), options).want(t, tt.reason, tt.exit)
			if tt.told != "" && (len(*bodies) != 2 || !strings.Contains((*bodies)[1], tt.told)) {
				t.Errorf("%d calls, the last %s", len(*bodies), (*bodies)[len(*bodies)-1])
			}
		})
	}
}
