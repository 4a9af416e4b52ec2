package agent

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestRecordedStreams reads what real agents printed.
func TestRecordedStreams(t *testing.T) {
	for _, test := range []struct {
		file    string
		exit    int
		want    Verdict
		marker  MarkerKind
		kinds   []EventKind
		session bool
	}{
		{"claude-text", 0, OK, CompleteMarker, []EventKind{Init, Text, UsageEvent, Result}, true},
		{"claude-tool", 0, OK, CompleteMarker, []EventKind{Init, ToolCall, UsageEvent, ToolResult, Text, UsageEvent, Result}, true},
		{"claude-401", 1, Unauthorised, "", []EventKind{Init, Retry, Retry, ErrorEvent, UsageEvent, Result}, true},
		{"claude-403", 1, Unauthorised, "", []EventKind{Init, ErrorEvent, UsageEvent, Result}, true},
		{"claude-429", 1, RateLimited, "", []EventKind{Init, ErrorEvent, UsageEvent, Result}, true},
		{"claude-529", 1, Overloaded, "", []EventKind{Init, Retry, Retry, ErrorEvent, UsageEvent, Result}, true},
		{"claude-max-turns", 1, MaxTurns, "", []EventKind{Init, ToolCall, UsageEvent, ToolResult, ToolCall, UsageEvent, ToolResult, Result}, true},
		{"claude-not-permitted", 0, Denied, "", []EventKind{Init, ToolCall, UsageEvent, ToolResult, Text, UsageEvent, Result}, true},
		{"codex-text", 0, OK, CompleteMarker, []EventKind{Init, Raw, Text, Result}, true},
		{"codex-tool", 0, OK, CompleteMarker, []EventKind{Init, Raw, ToolCall, ToolResult, Text, Result}, true},
		{"codex-401", 1, Failed, "", []EventKind{Init, Raw, ErrorEvent, Result}, true},
		{"codex-blocked", 0, Blocked, BlockedMarker, []EventKind{Init, Raw, Text, Result}, true},
	} {
		t.Run(test.file, func(t *testing.T) {
			who, events := recorded(t, test.file)
			s := Summarize(events...)
			got := who.Outcome(Exit{Code: test.exit}, Gate{}, s, Tags{})
			if got.Verdict != test.want || got.Marker.Kind != test.marker || (s.Session != "") != test.session {
				t.Errorf("%+v, session %q; want %s %s", got, s.Session, test.want, test.marker)
			}
			var kinds []EventKind
			for _, e := range events {
				kinds = append(kinds, e.Kind)
			}
			if !slices.Equal(kinds, test.kinds) {
				t.Errorf("events %q, want %q", kinds, test.kinds)
			}
		})
	}
}

// recorded reads a file whose name begins with the agent's.
func recorded(t testing.TB, name string) (Agent, []Event) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "streams", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	who, err := Find(map[bool]string{true: "claude", false: "codex"}[name[:2] == "cl"])
	if err != nil {
		t.Fatal(err)
	}
	p := who.Parser()
	return who, append(p.Feed(data), p.Close()...)
}

// TestAgentCost: each agent counts in its own way.
func TestAgentCost(t *testing.T) {
	for _, test := range []struct {
		agent, stream, usd string
		want               Usage
	}{
		{
			// Three lines of one message, then a result whose own usage says nothing.
			"claude", `{"type":"assistant","message":{"id":"m1","content":[{"type":"thinking","thinking":"hm"}],"usage":{"input_tokens":7,"output_tokens":1}}}
{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"a"}],"usage":{"input_tokens":7,"output_tokens":1}}}
{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"b"}],"usage":{"input_tokens":7,"output_tokens":1}}}
{"type":"result","subtype":"success","total_cost_usd":1.25e-2,"usage":{"input_tokens":0},"modelUsage":{"x":{"inputTokens":7,"outputTokens":3},"y":{"inputTokens":100,"cacheReadInputTokens":5,"cacheCreationInputTokens":6}}}`,
			"0.0125", Usage{Input: 107, Output: 3, CacheRead: 5, CacheWrite: 6},
		},
		{
			"claude", `{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"a"}],"usage":{"input_tokens":7}}}
{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"b"}],"usage":{"input_tokens":7}}}
{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"c"}],"usage":{"input_tokens":9,"cache_read_input_tokens":1}}}`,
			"", Usage{Input: 16, CacheRead: 1}, // killed: what is known
		},
		{
			"codex", `{"type":"turn.completed","usage":{"input_tokens":1366,"cached_input_tokens":222,"cache_write_input_tokens":33,"output_tokens":44,"reasoning_output_tokens":40}}`,
			"", Usage{Input: 1111, CacheRead: 222, CacheWrite: 33, Output: 44},
		},
		{
			"codex", `{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":9223372036854775807,"cache_write_input_tokens":9223372036854775807,"output_tokens":-4}}`,
			"", Usage{CacheRead: maxTokens, CacheWrite: maxTokens},
		},
		{
			"opencode", `{"type":"step_finish","sessionID":"s","part":{"reason":"tool-calls","cost":0.5,"tokens":{"input":1,"output":2,"cache":{"read":3,"write":4}}}}
{"type":"step_finish","sessionID":"s","part":{"reason":"stop","cost":0.25,"tokens":{"input":1,"output":2,"cache":{"read":3,"write":4}}}}`,
			"0.75", Usage{Input: 2, Output: 4, CacheRead: 6, CacheWrite: 8},
		},
		{
			"gemini", `{"type":"result","status":"success","stats":{"input_tokens":100,"output_tokens":5,"cached":40}}`,
			"", Usage{Input: 60, CacheRead: 40, Output: 5},
		},
	} {
		who, _ := Find(test.agent)
		p := who.Parser()
		got := Summarize(append(p.Feed([]byte(test.stream)), p.Close()...)...).Cost()
		if got.Usage != test.want || got.Known != (test.usd != "") || got.Known && got.USD.Dollars() != mustDollars(t, test.usd) {
			t.Errorf("%s: %+v, want %+v, %q", test.agent, got, test.want, test.usd)
		}
	}
}
