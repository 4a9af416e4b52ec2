package meter

import (
	"fmt"
	"strings"
	"testing"
)

// prose is text such as prompts have, of about n bytes.
func prose(n int) string {
	const sentence = `Run the tests before you say that you are done; \"done\" is what they say, not you.\n`
	return strings.Repeat(sentence, n/len(sentence)+1)
}

// claudeBody has the shape of what Claude Code sends: a system prompt in parts,
// two dozen tools, a conversation with tool calls, thinking and a cache.
func claudeBody(size int) string {
	var tools, turns []string
	for i := range 24 {
		tools = append(tools, fmt.Sprintf(`{"name":"Tool%d","description":"%s","input_schema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"command":{"description":"The command","type":"string"},"timeout":{"type":"number"}},"required":["command"],"additionalProperties":false}}`, i, prose(size/60)))
	}
	for i := range 6 {
		turns = append(turns,
			fmt.Sprintf(`{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"%s"},{"type":"tool_use","id":"toolu_%d","name":"Bash","input":{"command":"go test ./...","file_id":"x"}}]}`, strings.Repeat("Ev8B", size/600), i),
			fmt.Sprintf(`{"role":"user","content":[{"tool_use_id":"toolu_%d","type":"tool_result","content":"%s","is_error":false}]}`, i, prose(size/40)))
	}
	return `{"model":"claude-opus-4-8","messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>` + prose(size/20) + `"},{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]},` +
		strings.Join(turns, ",") + `,{"role":"system","content":"` + prose(100) + `"}],` +
		`"system":[{"type":"text","text":"x-anthropic-billing-header: x"},{"type":"text","text":"` + prose(size/8) + `","cache_control":{"type":"ephemeral"}}],` +
		`"tools":[` + strings.Join(tools, ",") + `],"metadata":{"user_id":"{\"session_id\":\"x\"}"},"max_tokens":64000,"thinking":{"type":"adaptive"},` +
		`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},"output_config":{"effort":"high"},"stream":true}`
}

// codexBody has the shape of what codex sends: tools in the input, in
// namespaces, and sealed reasoning.
func codexBody(size int) string {
	return `{"model":"gpt-6.1-sol","input":[{"type":"additional_tools","id":"at_1","role":"developer","tools":[{"type":"namespace","name":"functions","description":"","tools":[` +
		`{"type":"custom","name":"exec","description":"` + prose(size/3) + `","format":{"type":"grammar","syntax":"lark","definition":"start: /x/"}},` +
		`{"type":"function","name":"wait","parameters":{"type":"object","properties":{"tools":{"type":"array"}}}}]}]},` +
		`{"type":"message","id":"msg_1","role":"developer","content":[{"type":"input_text","text":"` + prose(size/3) + `"}],"internal_chat_message_metadata_passthrough":{"turn_id":"x"}},` +
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},` +
		`{"type":"reasoning","summary":[],"encrypted_content":"` + strings.Repeat("gAAA", size/24) + `"},` +
		`{"type":"custom_tool_call","call_id":"c","name":"exec","input":"await tools.exec_command({cmd:\"ls\"})","namespace":"functions"},` +
		`{"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":"` + prose(size/6) + `"}]}],` +
		`"tool_choice":"auto","parallel_tool_calls":false,"reasoning":{"effort":"low","context":"all_turns"},"store":false,"stream":true,` +
		`"include":["reasoning.encrypted_content"],"prompt_cache_key":"x","text":{"verbosity":"low"},"client_metadata":{"thread_id":"x"}}`
}

// What the real agents send passes, at a bound near its size.
func TestBodiesOfAgents(t *testing.T) {
	claude := claudeBody(85 << 10)
	call := read(t, Anthropic, claude)
	if call.Model != "claude-opus-4-8" || !call.Stream || call.Output != 64_000 || call.Writes != Writes5m || call.FillsWindow || call.Rounds != 1 {
		t.Errorf("claude: %+v", call)
	}
	if n := int64(len(claude)); call.Input < n || call.Input > n+3*marginBase {
		t.Errorf("claude: %d tokens for %d bytes", call.Input, n)
	}
	codex := codexBody(68 << 10)
	call = read(t, OpenAIResponses, codex)
	if call.Model != "gpt-6.1-sol" || !call.Stream || call.SaysOutput || call.FillsWindow || call.Compacts {
		t.Errorf("codex: %+v", call)
	}
	if n := int64(len(codex)); call.Input < n || call.Input > n+3*marginBase {
		t.Errorf("codex: %d tokens for %d bytes", call.Input, n)
	}
}

func BenchmarkReadCall(b *testing.B) {
	for _, c := range []struct {
		name string
		api  API
		body string
	}{
		{"claude-85KB", Anthropic, claudeBody(80 << 10)},
		{"claude-1MB", Anthropic, claudeBody(1 << 20)},
		{"codex-68KB", OpenAIResponses, codexBody(68 << 10)},
	} {
		b.Run(c.name, func(b *testing.B) {
			body := []byte(c.body)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ReadCall(c.api, jsonHeader(), body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReader(b *testing.B) {
	b.SetBytes(int64(len(anthropicStream)))
	b.ReportAllocs()
	for b.Loop() {
		if a := consume(Anthropic, stream, anthropicStream, 512); !a.known {
			b.Fatal(a)
		}
	}
}
