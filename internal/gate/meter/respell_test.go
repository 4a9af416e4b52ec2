package meter

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// A value that the model is shown as JSON may be spelled longer than in the
// request, so it counts by more than its bytes.
func TestRespelling(t *testing.T) {
	for tight, loose := range map[string]string{
		`[1,2,3]`:                  `[1, 2, 3]`,
		`{"enum":[1,2,3]}`:         `{"enum": 1 | 2 | 3}`,
		`[[[[]]]]`:                 "[\n [\n  [\n   [\n   ]\n  ]\n ]\n]",
		`{"a":{"b":{}}}`:           `{ "a" : { "b" : {} } }`,
		`["é","日","😀"]`:            `["\u00e9", "\u65e5", "\ud83d\ude00"]`,
		`[9e20,9E20]`:              `[900000000000000000000, 900000000000000000000]`,
		`["\"é,\\",true]`:          `["\"\u00e9,\\", true]`,
		strings.Repeat("[", 100):   strings.Repeat("[\n ", 100),
		`{"properties":{"a":{}} }`: `{"properties": {"a": {}} }`,
	} {
		if got := int64(len(tight)) + respelled([]byte(tight)); got < tokens(loose) {
			t.Errorf("%s counts for %d, and may have %d tokens", tight, got, tokens(loose))
		}
	}
	for _, text := range []string{`"é, [1,2]"`, `12`, `true`, `null`, ``, `"9e20"`} {
		if got := respelled([]byte(text)); got != 0 {
			t.Errorf("%s grows by %d, though it is spelled once", text, got)
		}
	}
}

// tokens is the most that a text has: one a byte, where white space that goes on
// for longer is one.
func tokens(text string) int64 {
	for strings.Contains(text, "  ") {
		text = strings.ReplaceAll(text, "  ", " ")
	}
	return int64(len(strings.ReplaceAll(text, "\n ", " ")))
}

// Wherever a request has JSON for the model, its respelling counts, and what is
// mere text does not.
func TestRespellingCounts(t *testing.T) {
	value := `[` + strings.Repeat(`1,`, 10_000) + `1]`
	for _, c := range []struct {
		api   API
		body  string
		grows bool
	}{
		{Anthropic, `{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"x","input":{"a":VALUE}}]}]}`, true},
		{Anthropic, `{"model":"m","tools":[{"name":"x","input_schema":{"enum":VALUE}}]}`, true},
		{Anthropic, `{"model":"m","output_config":{"format":{"schema":VALUE}}}`, true},
		{OpenAIResponses, `{"model":"m","tools":[{"type":"function","parameters":{"enum":VALUE}}]}`, true},
		{OpenAIResponses, `{"model":"m","text":{"format":{"schema":VALUE}}}`, true},
		{OpenAIResponses, `{"model":"m","input":[{"type":"tool_search_call","arguments":VALUE}]}`, true},
		{OpenAIChat, `{"model":"m","functions":[{"name":"x","parameters":{"enum":VALUE}}]}`, true},
		{OpenAIChat, `{"model":"m","messages":[{"role":"assistant","tool_calls":VALUE}]}`, true},
		{Anthropic, `{"model":"m","messages":[{"role":"user","content":"VALUE"}]}`, false},
		{OpenAIResponses, `{"model":"m","input":[{"type":"function_call","arguments":"VALUE"}]}`, false},
	} {
		body := strings.Replace(c.body, "VALUE", value, 1)
		call := read(t, c.api, body)
		if grown := call.Input - int64(len(body)) - marginBase; (grown >= 20_000) != c.grows {
			t.Errorf("%s: grows by %d", c.body, grown)
		}
	}
}

// A deferred tool that is written out again grows again.
func TestRespellingOfReferences(t *testing.T) {
	schema := `[` + strings.Repeat(`1,`, 10_000) + `1]`
	body := `{"model":"m","tools":[{"name":"x","defer_loading":true,"input_schema":{"enum":` + schema + `}}],"messages":[{"role":"user","content":[{"type":"tool_reference","tool_name":"x"}]}]}`
	if call := read(t, Anthropic, body); call.Input < 2*40_000 {
		t.Errorf("%+v, want twice what the schema can become", call)
	}
}

// No value has more tokens when it is indented than it counts for.
func FuzzRespelled(f *testing.F) {
	for _, text := range []string{`[1,[2,{"a":{}}]]`, `{"é":[true,null,1e9,"\\\",\u00e9"]}`, `[[[[]]]]`, `"x"`, `[`, ``} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		more := respelled(raw)
		var loose bytes.Buffer
		if json.Indent(&loose, raw, "", " ") != nil || len(raw) == 0 || raw[0] != '{' && raw[0] != '[' {
			return
		}
		if got := int64(len(raw)) + more; got < tokens(loose.String()) {
			t.Fatalf("%q counts for %d, and may have %d tokens", raw, got, tokens(loose.String()))
		}
	})
}
