package meter

import (
	"strings"
	"testing"
)

// An image counts by what one costs at most, not by its bytes.
func TestInlineImages(t *testing.T) {
	data := strings.Repeat("A", 1<<20)
	for _, c := range []struct {
		api  API
		body string
		cost int64
	}{
		{Anthropic, `{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + data + `"}}]}]}`, imageAnthropic},
		{Anthropic, `{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","content":[{"source":{"data":"` + data + `","type":"base64"},"type":"image"}]}]}]}`, imageAnthropic},
		{OpenAIResponses, `{"model":"m","input":[{"type":"message","role":"user","content":[{"type":"input_image","detail":"high","image_url":"data:image/png;base64,` + data + `"}]}]}`, imageOpenAI},
		{OpenAIResponses, `{"model":"m","input":[{"type":"function_call_output","output":[{"type":"input_image","image_url":"data:image/png;base64,` + data + `","detail":"low"}]}]}`, imageOpenAI},
		{OpenAIChat, `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,` + data + `","detail":"high"}}]}]}`, imageOpenAI},
	} {
		call := read(t, c.api, c.body)
		if call.FillsWindow || call.Input < c.cost || call.Input > c.cost+2*marginBase {
			t.Errorf("%s: %+v, want about %d tokens", c.api, call, c.cost)
		}
	}
}

// A text that says it is an image keeps its bytes, and an image without a size
// that is known fills the window.
func TestWhatIsNoInlineImage(t *testing.T) {
	data := strings.Repeat("A", 100_000)
	text := `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x","source":{"type":"base64","data":"` + data + `"}}]}]}`
	if call := read(t, Anthropic, text); call.Input < int64(len(text)) {
		t.Errorf("the bytes of a text are not counted: %+v", call)
	}
	for _, part := range []string{
		`{"type":"input_image","image_url":"data:image/png;base64,AA"}`,
		`{"type":"input_image","image_url":"data:image/png;base64,AA","detail":"original"}`,
		`{"type":"input_image","image_url":"data:image/png;base64,AA","detail":"high","file_id":"f"}`,
		`{"type":"input_image","detail":"high"}`,
		`{"type":"input_image","detail":"high","image_url":"data:text/html,AA"}`,
		`{"type":"input_file","filename":"x.pdf","file_data":"data:application/pdf;base64,AA"}`,
		`{"type":"input_text","text":"x","file_id":"f"}`,
	} {
		if call := read(t, OpenAIResponses, `{"model":"m","input":[{"role":"user","content":[`+part+`]}]}`); !call.FillsWindow {
			t.Errorf("%s: %+v", part, call)
		}
	}
}

// Items that bring their text are counted by it; those that name what the
// provider has stored fill the window.
func TestItems(t *testing.T) {
	for item, fills := range map[string]bool{
		`{"type":"message","role":"user","content":"x"}`:                                                                         false,
		`{"role":"developer","content":[{"type":"input_text","text":"x"}]}`:                                                      false,
		`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}`:                                               false,
		`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":null}`:                                                 true,
		`{"type":"reasoning","id":"rs_1","summary":[],"content":[]}`:                                                             true,
		`{"type":"compaction","encrypted_content":"gAAA"}`:                                                                       false,
		`{"type":"compaction","id":"cmp_1"}`:                                                                                     true,
		`{"type":"function_call","call_id":"c","name":"exec","arguments":"{}"}`:                                                  false,
		`{"type":"custom_tool_call_output","call_id":"c","output":"ok"}`:                                                         false,
		`{"type":"shell_call_output","call_id":"c","output":[{"stdout":"x","stderr":""}]}`:                                       false,
		`{"type":"agent_message","author":"a","recipient":"b","content":[{"type":"encrypted_content","encrypted_content":"g"}]}`: false,
		`{"type":"item_reference","id":"msg_1"}`:                                                                                 true,
		`{"id":"msg_1"}`:                                                                                                         true,
		`{"id":"msg_1","role":null}`:                                                                                             true,
		`{"id":"msg_1","role":"user"}`:                                                                                           true,
		`{"type":"web_search_call","id":"ws_1","action":{"type":"search"}}`:                                                      true,
		`{"type":"image_generation_call","id":"ig_1","result":"x"}`:                                                              true,
	} {
		if call := read(t, OpenAIResponses, `{"model":"m","input":[`+item+`]}`); call.FillsWindow != fills || call.Compacts {
			t.Errorf("%s: %+v", item, call)
		}
	}
	if call := read(t, OpenAIResponses, `{"model":"m","input":[{"type":"compaction_trigger"}]}`); !call.Compacts {
		t.Errorf("a trigger does not compact: %+v", call)
	}
}

// Tools that the client runs cost their definition.
func TestClientTools(t *testing.T) {
	for _, c := range []struct {
		api      API
		tool     string
		builtIns int64
	}{
		{Anthropic, `{"name":"x","input_schema":{"type":"object"}}`, 0},
		{Anthropic, `{"type":"custom","name":"x","input_schema":{}}`, 0},
		{Anthropic, `{"type":"bash_20250124","name":"bash"}`, 1},
		{Anthropic, `{"type":"text_editor_20250728","name":"str_replace_based_edit_tool"}`, 1},
		{Anthropic, `{"type":"memory_20250818","name":"memory"}`, 1},
		{Anthropic, `{"type":"computer_20251124","display_width_px":1,"display_height_px":1}`, 1},
		{Anthropic, `{"type":"computer_toolset_20260801"}`, 1},
		{Anthropic, `{"type":"browser_toolset_20260801"}`, 1},
		{OpenAIResponses, `{"type":"function","name":"x","parameters":{"type":"object","properties":{"tools":{"type":"array"}}}}`, 0},
		{OpenAIResponses, `{"type":"custom","name":"apply_patch","format":{"type":"grammar"}}`, 0},
		{OpenAIResponses, `{"type":"local_shell"}`, 1},
		{OpenAIResponses, `{"type":"apply_patch"}`, 1},
		{OpenAIResponses, `{"type":"shell","environment":{"type":"local"}}`, 1},
		{OpenAIResponses, `{"type":"tool_search","execution":"client"}`, 1},
		{OpenAIResponses, `{"type":"computer_use_preview","environment":"browser","display_width":1}`, 1},
		{OpenAIChat, `{"type":"function","function":{"name":"x","parameters":{}}}`, 0},
	} {
		body := `{"model":"m","tools":[` + c.tool + `]}`
		want := int64(len(body)) + marginBase + marginTool + c.builtIns*marginBuiltIn
		if call := read(t, c.api, body); call.Input < want || call.Input > want+100 || call.Rounds != 1 || call.FillsWindow {
			t.Errorf("%s: %+v, want input of about %d", c.tool, call, want)
		}
	}
}

// A tool that a message adds counts like the others.
func TestAddedTools(t *testing.T) {
	call := read(t, Anthropic, `{"model":"m","messages":[{"role":"system","clear_at":"never","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"type":"bash_20250124","name":"bash"}}}]}]}`)
	if call.Input < marginBase+marginBuiltIn || call.FillsWindow {
		t.Errorf("%+v", call)
	}
}

// Each reference to a deferred tool may write its definition out once more.
func TestToolReferences(t *testing.T) {
	tool := `{"name":"big","defer_loading":true,"description":"` + strings.Repeat("x", 10_000) + `"}`
	reference := `{"type":"tool_reference","tool_name":"big"}`
	call := read(t, Anthropic, `{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","content":[`+reference+`,`+reference+`]}]}],"tools":[`+tool+`]}`)
	if call.Input < 30_000 || call.FillsWindow {
		t.Errorf("%+v, want three times the tool", call)
	}
	long := strings.ReplaceAll(tool, "x", "\ufdfa") // what grows, grows each time
	call = read(t, Anthropic, `{"model":"m","messages":[{"role":"user","content":[`+reference+`,`+reference+`]}],"tools":[`+long+`]}`)
	if call.Input < 3*33*10_000 {
		t.Errorf("%+v, want three times what the tool can become", call)
	}
}

// The web search of Claude Code is bounded by its uses.
func TestBoundedServerTools(t *testing.T) {
	search := `{"type":"web_search_20250305","name":"web_search","max_uses":8}`
	for _, c := range []struct {
		tools    string
		rounds   int64
		searches int64
	}{
		{search, serverLoop + 1, 8},
		{`{"type":"web_search_20250305","name":"web_search","max_uses":20}`, 21, 20},
		{`{"type":"web_search_20260318","max_uses":2,"allowed_callers":["direct"]}`, serverLoop + 1, 2},
		{`{"type":"web_fetch_20250910","name":"web_fetch","max_uses":12}`, 13, 0},
		{search + `,{"type":"web_fetch_20250910","max_uses":12}`, 21, 8},
	} {
		call := read(t, Anthropic, `{"model":"m","max_tokens":10,"messages":[],"tools":[`+c.tools+`]}`)
		if call.Rounds != c.rounds || call.WebSearches != c.searches {
			t.Errorf("%s: %+v", c.tools, call)
		}
	}
}

// Characters that normalising makes longer count by what they become.
func TestGrowthOfText(t *testing.T) {
	for text, want := range map[string]int64{
		"plain ASCII": 0,
		"日本語 Кириллица 😀 — ─": 0,
		"\ufdfa":         30, // eighteen letters in one
		`"\ufdfa"`:       27, // spelled in six bytes
		`"\\ufdfa"`:      0,  // a backslash and letters
		"\u3316":         15, // kiromeetoru
		`"\ud835\udd60"`: 0,
	} {
		if found, err := survey([]byte(text)); err != nil || found.growth != want {
			t.Errorf("%s: %d, %v, want %d", text, found.growth, err, want)
		}
	}
	body := `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"` + strings.Repeat("\ufdfa", 1000) + `"}]}`
	if call := read(t, Anthropic, body); call.Input < 33_000 {
		t.Errorf("%+v, want the length that it can have", call)
	}
}
