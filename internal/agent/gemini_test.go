package agent

import (
	"slices"
	"strings"
	"testing"
)

// TestGeminiIsKeptToTheGate: no tool whose call the gate would refuse, and no
// second start.
func TestGeminiIsKeptToTheGate(t *testing.T) {
	command := invocation(t, "gemini", sample())
	policy := command.Files["/home/agent/.gemini/policies/ralph.toml"]
	for _, want := range []string{`"google_web_search"`, `"web_fetch"`, `decision = "deny"`} {
		if !strings.Contains(policy, want) {
			t.Errorf("no %s in the policy %s", want, policy)
		}
	}
	for _, want := range []string{"GEMINI_CLI_NO_RELAUNCH=true", "GOOGLE_GEMINI_BASE_URL=" + sample().BaseURL, "GEMINI_API_KEY=" + sample().Phantom} {
		if !slices.Contains(command.Env, want) {
			t.Errorf("no %s in %q", want, command.Env)
		}
	}
}

// TestGeminiStream reads what version 0.61.0 was seen to print, with a marker in
// two parts.
func TestGeminiStream(t *testing.T) {
	const output = `{"type":"init","timestamp":"2026-11-15T08:41:21.067Z","session_id":"55762320","model":"gemini-2.5-pro"}
{"type":"message","timestamp":"2026-11-15T08:41:21.068Z","role":"user","content":"do it"}
{"type":"tool_use","timestamp":"2026-11-15T08:41:21.181Z","tool_name":"run_shell_command","tool_id":"run_shell_command__1","parameters":{"command":"echo hi > made","description":"x"}}
{"type":"tool_result","timestamp":"2026-11-15T08:41:21.295Z","tool_id":"run_shell_command__1","status":"success","output":""}
{"type":"message","timestamp":"2026-11-15T08:41:21.324Z","role":"assistant","content":"<promise>COM","delta":true}
{"type":"message","timestamp":"2026-11-15T08:41:21.325Z","role":"assistant","content":"PLETE</promise>","delta":true}
{"type":"result","timestamp":"2026-11-15T08:41:21.334Z","status":"success","stats":{"total_tokens":3100,"input_tokens":3000,"output_tokens":100,"cached":1000,"input":2000,"duration_ms":268,"tool_calls":1,"models":{}}}
`
	var kinds []EventKind
	var usage Usage
	decode := decodeGemini()
	for line := range strings.Lines(output) {
		for _, e := range decode([]byte(strings.TrimSpace(line))) {
			kinds = append(kinds, e.Kind)
			if e.Usage != nil {
				usage = *e.Usage
			}
		}
	}
	if want := []EventKind{Init, Raw, ToolCall, ToolResult, Text, Text, Result}; !slices.Equal(kinds, want) {
		t.Errorf("events %v, want %v", kinds, want)
	}
	if want := (Usage{Input: 2000, CacheRead: 1000, Output: 100}); usage != want {
		t.Errorf("usage %+v, want %+v", usage, want)
	}
}
