package meter

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

func jsonHeader() http.Header {
	return http.Header{"Content-Type": {"application/json"}}
}

// read parses a body that must be bounded.
func read(t *testing.T, api API, body string) Call {
	t.Helper()
	call, err := ReadCall(api, jsonHeader(), []byte(body))
	if err != nil {
		t.Fatalf("ReadCall(%s, %.200s): %v", api, body, err)
	}
	return call
}

// A plain request is bounded by its bytes, the margins and max_tokens.
func TestPlainCalls(t *testing.T) {
	for _, c := range []struct {
		api    API
		body   string
		blocks int64
		output int64
	}{
		{Anthropic, `{"model":"m","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"hi"}]}`, 1, 100},
		{OpenAIResponses, `{"model":"m","max_output_tokens":100,"stream":true,"input":"hi"}`, 0, 100},
		{OpenAIChat, `{"model":"m","max_tokens":5,"max_completion_tokens":100,"stream":true,"messages":[{"role":"user","content":"hi"}]}`, 1, 100},
	} {
		call := read(t, c.api, c.body)
		if want := int64(len(c.body)) + marginBase + c.blocks*marginBlock; call.Input != want {
			t.Errorf("%s: input %d, want %d", c.api, call.Input, want)
		}
		if !call.SaysOutput || call.Output != c.output || call.Model != "m" || !call.Stream || call.Rounds != 1 || call.FillsWindow {
			t.Errorf("%s: %+v", c.api, call)
		}
	}
}

// What each part of a request does to the bound.
func TestEffectsOfFields(t *testing.T) {
	anthropic := func(more string) string { return `{"model":"m","max_tokens":10,"messages":[]` + more + `}` }
	responses := func(more string) string { return `{"model":"m","input":[]` + more + `}` }
	chat := func(more string) string { return `{"model":"m","messages":[]` + more + `}` }
	for name, c := range map[string]struct {
		api  API
		body string
		ok   func(Call) bool
	}{
		"no cache, no write":          {Anthropic, anthropic(``), func(c Call) bool { return c.Writes == WritesNone }},
		"cache of five minutes":       {Anthropic, anthropic(`,"system":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]`), func(c Call) bool { return c.Writes == Writes5m }},
		"cache at the top":            {Anthropic, anthropic(`,"cache_control":{"type":"ephemeral","ttl":"5m"}`), func(c Call) bool { return c.Writes == Writes5m }},
		"cache of an hour, in a tool": {Anthropic, anthropic(`,"tools":[{"name":"x","cache_control":{"ttl":"1h","type":"ephemeral"}}]`), func(c Call) bool { return c.Writes == Writes1h }},
		"cache in a tool's result":    {Anthropic, anthropic(`,"system":[{"type":"tool_result","content":[{"type":"text","cache_control":{"ttl":"1h"}}]}]`), func(c Call) bool { return c.Writes == Writes1h }},
		"cache name in escapes":       {Anthropic, anthropic(`,"cache\u005fcontrol":{"ttl":"\u0031h"}`), func(c Call) bool { return c.Writes == Writes1h }},
		"a schema is no cache":        {Anthropic, anthropic(`,"tools":[{"name":"x","input_schema":{"cache_control":{"ttl":"1h"},"file_id":{}}}]`), func(c Call) bool { return c.Writes == WritesNone && !c.FillsWindow }},
		"may be regional":             {Anthropic, anthropic(``), func(c Call) bool { return c.Regional }},
		"global":                      {Anthropic, anthropic(`,"inference_geo":"global"`), func(c Call) bool { return !c.Regional }},
		"in a region":                 {Anthropic, anthropic(`,"inference_geo":"us"`), func(c Call) bool { return c.Regional }},
		"fast":                        {Anthropic, anthropic(`,"speed":"fast"`), func(c Call) bool { return c.Tier == Fast }},
		"standard":                    {Anthropic, anthropic(`,"speed":"standard","service_tier":"auto"`), func(c Call) bool { return c.Tier == Standard }},
		"clearing":                    {Anthropic, anthropic(`,"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`), func(c Call) bool { return !c.Compacts }},
		"compacting":                  {Anthropic, anthropic(`,"context_management":{"edits":[{"type":"compact_20260112"}]}`), func(c Call) bool { return c.Compacts }},
		"compaction alone":            {Anthropic, anthropic(`,"compaction":{"type":"summarize"}`), func(c Call) bool { return c.Compacts }},
		"compaction as it comes":      {Anthropic, anthropic(`,"compaction":{}`), func(c Call) bool { return c.Compacts }},
		"only warming the cache":      {Anthropic, `{"model":"m","max_tokens":0,"messages":[]}`, func(c Call) bool { return c.SaysOutput && c.Output == 0 }},
		"thinking within":             {Anthropic, anthropic(`,"thinking":{"type":"enabled","budget_tokens":9}`), func(c Call) bool { return c.ExtraOutput == 0 }},
		"thinking beyond":             {Anthropic, anthropic(`,"thinking":{"type":"enabled","budget_tokens":11}`), func(c Call) bool { return c.ExtraOutput == 11 }},
		"image by URL":                {Anthropic, anthropic(`,"system":[{"type":"image","source":{"type":"url","url":"https://x"}}]`), func(c Call) bool { return c.FillsWindow }},
		"image by file":               {Anthropic, anthropic(`,"system":[{"source":{"file_id":"f","type":"file"},"type":"image"}]`), func(c Call) bool { return c.FillsWindow }},
		"document of text":            {Anthropic, anthropic(`,"system":[{"type":"document","source":{"type":"text","data":"x"}}]`), func(c Call) bool { return !c.FillsWindow }},
		"document in pages":           {Anthropic, anthropic(`,"system":[{"type":"document","source":{"type":"base64","data":"x"}}]`), func(c Call) bool { return c.FillsWindow }},
		"document of blocks":          {Anthropic, anthropic(`,"system":[{"type":"document","source":{"type":"content","content":[{"type":"image","source":{"type":"url"}}]}}]`), func(c Call) bool { return c.FillsWindow }},
		"cited sentence by sentence":  {Anthropic, anthropic(`,"system":[{"type":"document","source":{"type":"text","data":"a. b."},"citations":{"enabled":true}}]`), func(c Call) bool { return c.FillsWindow }},
		"search result":               {Anthropic, anthropic(`,"system":[{"type":"search_result","source":"https://x","title":"t","content":[{"type":"text","text":"x"}]}]`), func(c Call) bool { return !c.FillsWindow }},

		"earlier response":       {OpenAIResponses, responses(`,"previous_response_id":"resp_1"`), func(c Call) bool { return c.FillsWindow }},
		"no earlier response":    {OpenAIResponses, responses(`,"previous_response_id":null,"conversation":null`), func(c Call) bool { return !c.FillsWindow }},
		"conversation":           {OpenAIResponses, responses(`,"conversation":{"id":"conv_1"}`), func(c Call) bool { return c.FillsWindow }},
		"always writes":          {OpenAIResponses, responses(``), func(c Call) bool { return c.Writes == Writes5m }},
		"output not said":        {OpenAIResponses, responses(`,"max_output_tokens":null`), func(c Call) bool { return !c.SaysOutput }},
		"zero may be no limit":   {OpenAIResponses, responses(`,"max_output_tokens":0`), func(c Call) bool { return !c.SaysOutput }},
		"priority":               {OpenAIResponses, responses(`,"service_tier":"priority"`), func(c Call) bool { return c.Tier == Fast }},
		"ultrafast":              {OpenAIResponses, responses(`,"service_tier":"ultrafast"`), func(c Call) bool { return c.Tier == Ultrafast }},
		"flex is not counted on": {OpenAIResponses, responses(`,"service_tier":"flex"`), func(c Call) bool { return c.Tier == Standard }},

		"the larger limit":  {OpenAIChat, chat(`,"max_completion_tokens":100,"max_tokens":5`), func(c Call) bool { return c.Output == 100 }},
		"choices":           {OpenAIChat, chat(`,"n":3`), func(c Call) bool { return c.Choices == 3 }},
		"prediction":        {OpenAIChat, chat(`,"prediction":{"type":"content","content":"abc"}`), func(c Call) bool { return c.ExtraOutput == int64(len(`{"type":"content","content":"abc"}`)) }},
		"text alone":        {OpenAIChat, chat(`,"modalities":["text"]`), func(Call) bool { return true }},
		"image by URL chat": {OpenAIChat, `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x","detail":"low"}}]}]}`, func(c Call) bool { return c.FillsWindow }},
		"file in chat":      {OpenAIChat, `{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"file_data":"x"}}]}]}`, func(c Call) bool { return c.FillsWindow }},
	} {
		if call := read(t, c.api, c.body); !c.ok(call) {
			t.Errorf("%s: %+v", name, call)
		}
	}
}

// What has no bound is refused, and says what and why.
func TestUnboundedCalls(t *testing.T) {
	for _, c := range []struct {
		api  API
		more string
		want string
	}{
		{Anthropic, `"mcp_servers":[{"type":"url","url":"https://x"}]`, "mcp_servers"},
		{Anthropic, `"container":"container_1"`, "container"},
		{Anthropic, `"container":{"skills":[{"skill_id":"pptx"}]}`, "container"},
		{Anthropic, `"fallbacks":[{"model":"claude-opus-4-8"}]`, "fallbacks"},
		{Anthropic, `"fallbacks":"default"`, "fallbacks"},
		{Anthropic, `"container":{}`, "container"},
		{Anthropic, `"thread":{"id":"t"}`, "thread"},
		{Anthropic, `"speed":"warp"`, "speed"},
		{Anthropic, `"service_tier":"platinum"`, "service_tier"},
		{Anthropic, `"brand_new":1`, "brand_new"},
		{Anthropic, `"context_management":{"edits":[{"type":"expand_2027"}]}`, "expand_2027"},
		{Anthropic, `"tools":[{"type":"web_search_20250305","name":"web_search"}]`, "max_uses"},
		{Anthropic, `"tools":[{"type":"web_search_20250305","max_uses":1001}]`, "max_uses"},
		{Anthropic, `"tools":[{"type":"web_search_20250305","max_uses":600},{"type":"web_fetch_20250910","max_uses":600}]`, "max_uses"},
		{Anthropic, `"tools":[{"type":"web_search_20250305","max_uses":1,"allowed_callers":["code_execution_20250825"]}]`, "allowed_callers"},
		{Anthropic, `"tools":[{"type":"web_search_20260209","max_uses":1}]`, "allowed_callers"},
		{Anthropic, `"tools":[{"type":"code_execution_20250825","name":"code_execution"}]`, "code_execution"},
		{Anthropic, `"tools":[{"type":"advisor_20260301","model":"claude-fable-5-1","max_uses":1}]`, "advisor"},
		{Anthropic, `"tools":[{"type":"mcp_toolset","mcp_server_name":"x"}]`, "mcp_toolset"},
		{Anthropic, `"tools":[{"type":"tool_search_tool_bm25_20251119"}]`, "tool_search"},
		{Anthropic, `"tools":[{"type":"teleport_20270101"}]`, "teleport"},
		{Anthropic, `"messages":[{"role":"user","content":[{"type":"tool_addition","tool":{"type":"code_execution_20250825"}}]}]`, "code_execution"},
		{Anthropic, `"messages":[{"role":"user","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"type":"code_execution_20250825"}}}]}]`, "code_execution"},
		{Anthropic, `"messages":[{"role":"user","content":[{"type":"compaction","tool_changes":[{"type":"tool_addition","tool":{"type":"mcp_toolset_reference"}}]}]}]`, "mcp_toolset"},
		{Anthropic, `"messages":[{"role":"user","content":"x","tools":[{"type":"code_execution_20250825"}]}]`, "tools"},
		{Anthropic, `"messages":[{"role":"user","content":[{"type":"container_upload","file_id":"f"}]}]`, "container"},
		{Anthropic, `"messages":[{"role":"user","content":[{"type":"hologram"}]}]`, "hologram"},

		{OpenAIResponses, `"background":true`, "background"},
		{OpenAIResponses, `"prompt":{"id":"pmpt_1"}`, "prompt"},
		{OpenAIResponses, `"context_management":[{"type":"compaction","compact_threshold":1000}]`, "context_management"},
		{OpenAIResponses, `"multi_agent":{"enabled":true}`, "multi_agent"},
		{OpenAIResponses, `"moderation":{"model":"omni-moderation-latest"}`, "moderation"},
		{OpenAIResponses, `"service_tier":"warp"`, "service_tier"},
		{OpenAIResponses, `"reasoning":{"mode":"pro","effort":"low"}`, "reasoning.mode"},
		{OpenAIResponses, `"prompt_cache_options":{"ttl":"12h"}`, "12h"},
		{OpenAIResponses, `"input":[{"role":"user","content":[{"type":"input_text","text":"x","prompt_cache_breakpoint":{"ttl":"12h"}}]}]`, "12h"},
		{OpenAIResponses, `"input":[{"role":"user","content":[{"type":"input_audio","audio_url":"x"}]}]`, "input_audio"},
		{OpenAIResponses, `"input":[{"type":"hologram"}]`, "hologram"},
		{OpenAIResponses, `"tools":[{"type":"web_search","external_web_access":true}]`, "web_search"},
		{OpenAIResponses, `"tools":[{"type":"web_search_preview_2025_03_11"}]`, "web_search_preview"},
		{OpenAIResponses, `"tools":[{"type":"file_search"}]`, "file_search"},
		{OpenAIResponses, `"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]`, "code_interpreter"},
		{OpenAIResponses, `"tools":[{"type":"image_generation"}]`, "image_generation"},
		{OpenAIResponses, `"tools":[{"type":"mcp","server_url":"https://x"}]`, "mcp"},
		{OpenAIResponses, `"tools":[{"type":"programmatic_tool_calling"}]`, "programmatic"},
		{OpenAIResponses, `"tools":[{"type":"shell","environment":{"type":"container_auto"}}]`, "shell"},
		{OpenAIResponses, `"tools":[{"type":"shell"}]`, "shell"},
		{OpenAIResponses, `"tools":[{"type":"shell","environment":{"type":"container_auto"},"execution":"local"}]`, "shell"},
		{OpenAIResponses, `"tools":[{"type":"tool_search","execution":"server","environment":{"type":"client"}}]`, "tool_search"},
		{OpenAIResponses, `"tools":[{"type":"tool_search"}]`, "tool_search"},
		{OpenAIResponses, `"tools":[{"type":"namespace","name":"x","tools":[{"type":"web_search"}]}]`, "web_search"},
		{OpenAIResponses, `"input":[{"type":"additional_tools","tools":[{"type":"image_generation"}]}]`, "image_generation"},
		{OpenAIResponses, `"input":[{"type":"tool_search_output","tools":[{"type":"mcp"}]}]`, "mcp"},

		{OpenAIChat, `"web_search_options":{"search_context_size":"low"}`, "web_search_options"},
		{OpenAIChat, `"web_search_options":{}`, "web_search_options"}, // as the documentation switches it on
		{OpenAIChat, `"audio":{"voice":"x"}`, "audio"},
		{OpenAIChat, `"modalities":["text","audio"]`, "audio"},
		{OpenAIChat, `"messages":[{"role":"assistant","audio":{"id":"a"}}]`, "audio"},
		{OpenAIChat, `"tools":[{"type":"web_search"}]`, "web_search"},
	} {
		call, err := ReadCall(c.api, jsonHeader(), []byte(`{"model":"m",`+c.more+`}`))
		var unbounded *UnboundedError
		if !errors.As(err, &unbounded) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want an UnboundedError about %s", c.api, c.more, err, c.want)
		}
		if call.Model != "m" {
			t.Errorf("%s %s: the call is not filled in: %+v", c.api, c.more, call)
		}
	}
}

// What one parser may read differently from another is refused as malformed.
func TestMalformedCalls(t *testing.T) {
	deep := strings.Repeat(`[`, 101) + strings.Repeat(`]`, 101)
	for name, body := range map[string]string{
		"empty":                       ``,
		"not an object":               `[]`,
		"cut":                         `{"model":"m"`,
		"more after it":               `{"model":"m"}{}`,
		"name twice":                  `{"model":"m","max_tokens":1,"max_tokens":9}`,
		"name twice, deep":            `{"model":"m","metadata":{"a":1,"a":2}}`,
		"name twice, once in escapes": `{"model":"m","max_tokens":1,"max\u005ftokens":9}`,
		"not UTF-8":                   "{\"model\":\"m\xff\"}",
		"lone surrogate":              `{"model":"\ud800"}`,
		"no model":                    `{"messages":[]}`,
		"model is null":               `{"model":null}`,
		"fraction":                    `{"model":"m","max_tokens":1.0}`,
		"exponent":                    `{"model":"m","max_tokens":1e3}`,
		"negative":                    `{"model":"m","max_tokens":-1}`,
		"number in a text":            `{"model":"m","max_tokens":"100"}`,
		"too large":                   `{"model":"m","max_tokens":99999999999999999999}`,
		"stream is no flag":           `{"model":"m","stream":"true"}`,
		"tools are a text":            `{"model":"m","tools":"web_search"}`,
		"too deep":                    `{"model":"m","metadata":` + deep + `}`,
		"comment":                     `{"model":"m"/**/}`,
		"BOM":                         "\xef\xbb\xbf" + `{"model":"m"}`,
	} {
		_, err := ReadCall(Anthropic, jsonHeader(), []byte(body))
		var unbounded *UnboundedError
		if err == nil || errors.As(err, &unbounded) {
			t.Errorf("%s: %v, want it refused as malformed", name, err)
		}
	}
	for _, n := range []string{"0", "129", "-1"} {
		if _, err := ReadCall(OpenAIChat, jsonHeader(), []byte(`{"model":"m","messages":[],"n":`+n+`}`)); err == nil {
			t.Errorf("n = %s is taken", n)
		}
	}
	if _, err := ReadCall(OpenAIResponses, jsonHeader(), []byte(`{"model":"m","instructions":[{"type":"item_reference","id":"msg_1"}]}`)); err == nil {
		t.Error("instructions that are items are taken")
	}
	if _, err := ReadCall("gopher", jsonHeader(), []byte(`{"model":"m"}`)); err == nil {
		t.Error("an unknown API is taken")
	}
	if _, err := ReadCall(Anthropic, jsonHeader(), make([]byte, MaxBody+1)); err == nil {
		t.Error("a body of any size is taken")
	}
}

// A name that differs in case is another name: it is unknown, not the limit.
func TestNamesKeepTheirCase(t *testing.T) {
	_, err := ReadCall(Anthropic, jsonHeader(), []byte(`{"model":"m","MAX_TOKENS":1}`))
	var unbounded *UnboundedError
	if !errors.As(err, &unbounded) {
		t.Errorf("%v, want an UnboundedError", err)
	}
}

// What makes the provider ask other hosts is told, for whoever chooses the host
// can send data there.
func TestReaches(t *testing.T) {
	for body, want := range map[string]struct {
		api API
		by  string
	}{
		`{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://x/?data"}}]}]}`:                              {Anthropic, "content that is given by its URL"},
		`{"model":"m","messages":[{"role":"user","content":[{"type":"document","source":{"url":"https://x/?data","type":"url"}}]}]}`:                           {Anthropic, "content that is given by its URL"},
		`{"model":"m","messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"image","source":{"type":"url","url":"https://x"}}]}]}]}`: {Anthropic, "content that is given by its URL"},
		`{"model":"m","tools":[{"type":"web_search_20250305","name":"web_search","max_uses":1}]}`:                                                              {Anthropic, "the tool web_search_20250305"},
		`{"model":"m","tools":[{"type":"web_fetch_20250910","name":"web_fetch","max_uses":1}]}`:                                                                {Anthropic, "the tool web_fetch_20250910"},
		`{"model":"m","messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"aGk="}}]}]}`:                                     {Anthropic, ""},
		`{"model":"m","messages":[{"role":"user","content":"see https://x/?data"}]}`:                                                                           {Anthropic, ""},
		`{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"https://x/?data"}]}]}`:                                             {OpenAIResponses, "an image that is given by its URL"},
		`{"model":"m","input":[{"role":"user","content":[{"type":"input_file","file_url":"https://x/?data"}]}]}`:                                               {OpenAIResponses, "a file that is given by its URL"},
		`{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,aGk="}]}]}`:                                  {OpenAIResponses, ""},
		`{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/?data"}}]}]}`:                                    {OpenAIChat, "an image that is given by its URL"},
	} {
		call, err := ReadCall(want.api, jsonHeader(), []byte(body))
		if err != nil || call.Reaches != want.by {
			t.Errorf("%s: %q, %v; want %q", body, call.Reaches, err, want.by)
		}
	}
}

// One text can be JSON and a form at once, so the content type must be JSON.
func TestContentType(t *testing.T) {
	body := []byte(`{"model":"cheap","metadata":{"x":"&model=dear&input=y"}}`)
	for value, ok := range map[string]bool{
		"application/json":                  true,
		"application/json; charset=utf-8":   true,
		"Application/JSON;charset=UTF-8":    true,
		"application/json; charset=utf-16":  false,
		"application/json; boundary=x":      false,
		"application/x-www-form-urlencoded": false,
		"text/plain":                        false,
		"":                                  false,
	} {
		if _, err := ReadCall(OpenAIResponses, http.Header{"Content-Type": {value}}, body); (err == nil) != ok {
			t.Errorf("%q: %v", value, err)
		}
	}
	for name, header := range map[string]http.Header{
		"none":    {},
		"two":     {"Content-Type": {"application/json", "application/x-www-form-urlencoded"}},
		"encoded": {"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}},
	} {
		if _, err := ReadCall(OpenAIResponses, header, body); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// A beta for longer output lifts the model's usual maximum.
func TestBetaHeader(t *testing.T) {
	header := jsonHeader()
	header.Add("Anthropic-Beta", "claude-code-20250219, interleaved-thinking-2025-05-14")
	body := []byte(`{"model":"m","max_tokens":300000}`)
	if call, err := ReadCall(Anthropic, header, body); err != nil || call.Uncapped {
		t.Errorf("%+v, %v", call, err)
	}
	for _, beta := range []string{"output-300k-2026-03-24", "x,Output-300K-2026-03-24"} {
		header.Set("Anthropic-Beta", beta)
		if call, err := ReadCall(Anthropic, header, body); err != nil || !call.Uncapped {
			t.Errorf("%s: %+v, %v", beta, call, err)
		}
	}
}
