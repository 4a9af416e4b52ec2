package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/money"
)

func mustDollars(t *testing.T, text string) float64 {
	t.Helper()
	usd, err := money.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return usd.Dollars()
}

// claudeEnd is a stream that ends with a result of these properties, after an
// error message if there is an error.
func claudeEnd(subtype string, isError bool, status, terminal, fault string, more string) string {
	stream := `{"type":"system","subtype":"init","session_id":"s","model":"m"}` + "\n"
	if fault != "" {
		stream += fmt.Sprintf(`{"type":"assistant","error":%q,"message":{"id":"e","model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}}`+"\n", fault)
	}
	return stream + fmt.Sprintf(`{"type":"result","subtype":%q,"is_error":%v,"api_error_status":%s,"terminal_reason":%q%s}`+"\n", subtype, isError, status, terminal, more)
}

// TestClaudeOutcomes is the matrix of what Claude Code was seen to do.
func TestClaudeOutcomes(t *testing.T) {
	const turns, words = `,"num_turns":1`, `,"num_turns":1,"result":"done"`
	until := time.Unix(1900000000, 0).UTC()
	rejected := `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1900000000,"rateLimitType":"five_hour"}}` + "\n"
	for _, test := range []struct {
		name   string
		exit   Exit
		stream string
		want   Verdict
		until  time.Time
	}{
		{"success", Exit{}, claudeEnd("success", false, "null", "completed", "", words), OK, time.Time{}},
		{"success, exit code 1", Exit{Code: 1}, claudeEnd("success", false, "null", "completed", "", words), Failed, time.Time{}},
		{"hung after its result", Exit{Code: -1, Signal: "killed", Lingered: true}, claudeEnd("success", false, "null", "completed", "", words), OK, time.Time{}},
		{"lingered without a result", Exit{Code: -1, Signal: "killed", Lingered: true}, "", Killed, time.Time{}},
		{"not logged in", Exit{Code: 1}, claudeEnd("success", true, "null", "completed", "authentication_failed", words), Unauthorised, time.Time{}},
		{"401", Exit{Code: 1}, claudeEnd("success", true, "401", "completed", "authentication_failed", words), Unauthorised, time.Time{}},
		{"403", Exit{Code: 1}, claudeEnd("success", true, "403", "completed", "authentication_failed", words), Unauthorised, time.Time{}},
		{"credit balance", Exit{Code: 1}, claudeEnd("success", true, "400", "completed", "billing_error", words), Unfunded, time.Time{}},
		{"prompt too long", Exit{Code: 1}, claudeEnd("success", true, "400", "prompt_too_long", "invalid_request", words), ContextFull, time.Time{}},
		{"context full", Exit{Code: 1}, claudeEnd("success", true, "null", "blocking_limit", "invalid_request", words), ContextFull, time.Time{}},
		{"404 model", Exit{Code: 1}, claudeEnd("success", true, "404", "completed", "model_not_found", words), Failed, time.Time{}},
		{"429", Exit{Code: 1}, claudeEnd("success", true, "429", "completed", "rate_limit", words), RateLimited, time.Time{}},
		{"429 of a subscription", Exit{Code: 1}, rejected + claudeEnd("success", true, "429", "completed", "rate_limit", words), RateLimited, until},
		{"500", Exit{Code: 1}, claudeEnd("success", true, "500", "completed", "server_error", words), Overloaded, time.Time{}},
		{"529", Exit{Code: 1}, claudeEnd("success", true, "529", "completed", "server_error", words), Overloaded, time.Time{}},
		{"connection refused", Exit{Code: 1}, claudeEnd("success", true, "null", "completed", "server_error", words), Failed, time.Time{}},
		{"max tokens", Exit{Code: 1}, claudeEnd("success", true, "null", "completed", "max_output_tokens", words), Failed, time.Time{}},
		{"refusal", Exit{Code: 1}, claudeEnd("success", true, "null", "completed", "invalid_request", words+`,"stop_reason":"refusal"`), Refused, time.Time{}},
		{"max turns", Exit{Code: 1}, claudeEnd("error_max_turns", true, "null", "max_turns", "", turns), MaxTurns, time.Time{}},
		{"max budget", Exit{Code: 1}, claudeEnd("error_max_budget_usd", true, "null", "completed", "", turns), BudgetSpent, time.Time{}},
		{"SIGTERM", Exit{Code: 143}, `{"type":"system","subtype":"init"}`, Killed, time.Time{}},
		{"SIGHUP", Exit{Code: 129}, `{"type":"system","subtype":"init"}`, Killed, time.Time{}},
		{"SIGINT", Exit{}, claudeEnd("error_during_execution", true, "null", "aborted_tools", "", turns), Killed, time.Time{}},
		{"a hook stopped it", Exit{}, claudeEnd("success", false, "null", "hook_stopped", "", turns+`,"result":""`), Failed, time.Time{}},
		{"a hook dropped the prompt", Exit{}, claudeEnd("success", false, "null", "completed", "", `,"num_turns":0,"result":"x"`), Failed, time.Time{}},
		{"a stop hook blocked for ever", Exit{}, claudeEnd("success", false, "null", "completed", "", turns+`,"result":""`), Empty, time.Time{}},
		{"permission denied", Exit{}, claudeEnd("success", false, "null", "completed", "", words+`,"permission_denials":[{"tool_name":"Bash"}]`), Denied, time.Time{}},
		{"bad session", Exit{Code: 1}, claudeEnd("error_during_execution", true, "null", "", "", `,"errors":["No conversation found"]`), Failed, time.Time{}},
		{"bad flag", Exit{Code: 1}, "", Failed, time.Time{}},
		{"nothing at all", Exit{}, "", Empty, time.Time{}},
		{"a result after which tasks end", Exit{}, claudeEnd("success", false, "null", "completed", "", words) + `{"type":"system","subtype":"task_notification"}`, OK, time.Time{}},
		{"an error that it got over", Exit{Code: 1}, `{"type":"assistant","error":"rate_limit","message":{"content":[{"type":"text","text":"no"}]}}` + "\n" + `{"type":"assistant","message":{"content":[{"type":"text","text":"yes"}]}}` + "\n" + claudeEnd("success", true, "null", "completed", "", words), Failed, time.Time{}},
		{"no result", Exit{}, `{"type":"system","subtype":"init"}`, Failed, time.Time{}},
		{"limit words in a tool's output", Exit{}, `{"type":"user","message":{"content":[{"type":"tool_result","content":"429 rate_limit"}]}}` + "\n" + claudeEnd("success", false, "null", "completed", "", words), OK, time.Time{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			who, _ := Find("claude")
			got := who.Outcome(test.exit, Gate{}, summary(who, test.stream), Tags{})
			if got.Verdict != test.want || !got.Until.Equal(test.until) || got.Finished != (test.want == OK) {
				t.Errorf("%+v, want %s until %s", got, test.want, test.until)
			}
		})
	}
}

func summary(who Agent, stream string) *Summary {
	p := who.Parser()
	return Summarize(append(p.Feed([]byte(stream)), p.Close()...)...)
}

// TestOtherOutcomes is what is known of the others.
func TestOtherOutcomes(t *testing.T) {
	for _, test := range []struct {
		name, agent string
		exit        Exit
		stream      string
		want        Verdict
	}{
		{"success", "codex", Exit{}, `{"type":"item.completed","item":{"type":"agent_message","text":"hi"}}` + "\n" + `{"type":"turn.completed","usage":{}}`, OK},
		{"without a word", "codex", Exit{}, `{"type":"turn.completed","usage":{}}`, Empty},
		{"a warning", "codex", Exit{}, `{"type":"item.completed","item":{"type":"error","message":"no metadata"}}` + "\n" + `{"type":"item.completed","item":{"type":"agent_message","text":"hi"}}` + "\n" + `{"type":"turn.completed"}`, OK},
		{"killed", "codex", Exit{Code: -1, Signal: "terminated"}, `{"type":"turn.started"}`, Killed},
		{"interrupted", "codex", Exit{Code: 1}, `{"type":"turn.started"}`, Failed},
		{"success", "opencode", Exit{}, `{"type":"text","part":{"text":"hi"}}` + "\n" + `{"type":"step_finish","part":{"reason":"stop"}}`, OK},
		{"429", "opencode", Exit{Code: 1}, `{"type":"error","error":{"name":"APIError","data":{"statusCode":429,"message":"slow"}}}`, RateLimited},
		{"401", "opencode", Exit{Code: 1}, `{"type":"error","error":{"name":"APIError","data":{"statusCode":401}}}`, Unauthorised},
		{"success", "gemini", Exit{}, `{"type":"message","role":"assistant","content":"h","delta":true}` + "\n" + `{"type":"message","role":"assistant","content":"i","delta":true}` + "\n" + `{"type":"result","status":"success"}`, OK},
		{"the prompt is no answer", "gemini", Exit{}, `{"type":"message","role":"user","content":"hi"}` + "\n" + `{"type":"result","status":"success"}`, Empty},
		{"401", "gemini", Exit{Code: 145}, `{"type":"result","status":"error","error":{"type":"E","message":"m"}}`, Unauthorised},
		{"400", "gemini", Exit{Code: 144}, `{"type":"result","status":"error"}`, Failed},
		{"429", "gemini", Exit{Code: 173}, `{"type":"init"}`, RateLimited},
		{"no key", "gemini", Exit{Code: 41}, `Invalid auth method selected.`, Unauthorised},
		{"turns", "gemini", Exit{Code: 53}, `{"type":"init"}`, MaxTurns},
		{"success", "command", Exit{}, "hi\n", OK},
		{"blank", "command", Exit{}, "\x1b \n\n", Empty},
		{"failure", "command", Exit{Code: 3}, "hi\n", Failed},
	} {
		t.Run(test.agent+" "+test.name, func(t *testing.T) {
			who, err := Find(test.agent)
			if err != nil {
				t.Fatal(err)
			}
			if got := who.Outcome(test.exit, Gate{}, summary(who, test.stream), Tags{}); got.Verdict != test.want {
				t.Errorf("%+v, want %s", got, test.want)
			}
		})
	}
}

// TestGateKnowsBetter: what an agent says yields to what the gate saw, and both to
// a person who stopped it.
func TestGateKnowsBetter(t *testing.T) {
	who, _ := Find("claude")
	s := summary(who, claudeEnd("success", false, "null", "completed", "", `,"num_turns":1,"result":"done"`))
	until := time.Unix(1900000000, 0)
	for _, test := range []struct {
		exit Exit
		gate Gate
		want Verdict
	}{
		{Exit{}, Gate{BudgetSpent: true, Unauthorised: true}, BudgetSpent},
		{Exit{}, Gate{Unauthorised: true, Limited: true}, Unauthorised},
		{Exit{}, Gate{Unfunded: true, Overloaded: true}, Unfunded},
		{Exit{}, Gate{Limited: true, LimitedUntil: until, Overloaded: true}, RateLimited},
		{Exit{TimedOut: true}, Gate{Overloaded: true}, Overloaded},
		{Exit{TimedOut: true, Signal: "killed"}, Gate{}, TimedOut},
		{Exit{Idle: true, Signal: "killed"}, Gate{}, Idle},
		{Exit{Stopped: true}, Gate{BudgetSpent: true}, Killed},
	} {
		got := who.Outcome(test.exit, test.gate, s, Tags{})
		if got.Verdict != test.want || got.Verdict == RateLimited && !got.Until.Equal(until) {
			t.Errorf("%+v %+v: %+v, want %s", test.exit, test.gate, got, test.want)
		}
		if got.Finished != (test.exit.Signal == "") {
			t.Errorf("%+v: finished %v", test.exit, got.Finished)
		}
	}
}

func TestMarkers(t *testing.T) {
	long := strings.Repeat("é", maxMarker)
	for _, test := range []struct {
		tags Tags
		text string
		want Marker
	}{
		{Tags{}, "all done\n<promise>COMPLETE</promise>", Marker{Kind: CompleteMarker}},
		{Tags{}, "COMPLETE", Marker{}},
		{Tags{}, "<promise>complete</promise>", Marker{}},
		{Tags{Complete: "<done/>"}, "<done/>", Marker{Kind: CompleteMarker}},
		{Tags{Complete: "<done/>"}, "<promise>COMPLETE</promise>", Marker{}},
		{Tags{}, "<promise>BLOCKED: no database </promise>", Marker{BlockedMarker, "no database"}},
		{Tags{}, "<blocked>no\ndatabase</blocked> <promise>COMPLETE</promise>", Marker{BlockedMarker, "no\ndatabase"}},
		{Tags{}, "<promise>DECIDE:red or blue?</promise>", Marker{DecideMarker, "red or blue?"}},
		{Tags{}, "<decide>one</decide> then <decide>two</decide>", Marker{DecideMarker, "two"}},
		{Tags{}, "<blocked>it never ends", Marker{}},
		{Tags{}, "<blocked>" + long + "</blocked>", Marker{BlockedMarker, long[:maxMarker]}},
	} {
		if got := test.tags.Find(test.text); got != test.want {
			t.Errorf("%.60q: %.80v, want %.80v", test.text, got, test.want)
		}
	}
}

// TestFinalWords: only the agent's own, and only after the last use of a tool.
func TestFinalWords(t *testing.T) {
	for want, events := range map[string][]Event{
		"b\nc": {{Kind: Text, Text: "a"}, {Kind: ToolCall}, {Kind: ToolResult, Text: DefaultComplete}, {Kind: Text, Text: "b"}, {Kind: Text, Text: "c"}},
		"mine": {{Kind: Text, Text: "mine"}, {Kind: ToolCall, Subagent: true}, {Kind: Text, Text: DefaultComplete, Subagent: true}, {Kind: Thinking, Text: DefaultComplete}},
		"last": {{Kind: Text, Text: "a"}, {Kind: Result, Text: "last", End: &End{Success: true}}},
		"":     {{Kind: ErrorEvent, Text: DefaultComplete}, {Kind: Raw, Raw: []byte(DefaultComplete)}, {Kind: Result, Text: DefaultComplete, End: &End{IsError: true}}},
	} {
		if got := Summarize(events...).Final(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestManyWords: of words without end the last are kept, and a million of them
// cost little.
func TestManyWords(t *testing.T) {
	s := &Summary{}
	for range 1_000_000 {
		s.Add(Event{Kind: Text, Text: "many words\n", Delta: true})
	}
	s.Add(Event{Kind: Text, Text: DefaultComplete, Delta: true})
	if final := s.Final(); len(final) > maxFinal || !strings.HasSuffix(final, DefaultComplete) || cap(s.final) > 16*maxFinal {
		t.Errorf("%d bytes, %d held", len(final), cap(s.final))
	}
}
