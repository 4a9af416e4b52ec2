package meter

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const geminiPro = "gemini-2.5-pro"

// readGoogle parses a body that must be bounded.
func readGoogle(t *testing.T, body string) Call {
	t.Helper()
	call, err := ReadCallFor(geminiPro, Google, jsonHeader(), []byte(body))
	if err != nil {
		t.Fatalf("ReadCallFor(%.200s): %v", body, err)
	}
	return call
}

// googleBody has the shape of what gemini sends: sixteen tools, a session's
// context, a call of a tool and what it gave back.
func googleBody(size int) string {
	var tools []string
	for i := range 16 {
		tools = append(tools, fmt.Sprintf(`{"name":"tool_%d","description":"%s","parametersJsonSchema":{"type":"object","properties":{"file_uri":{"type":"string","description":"x"}},"required":["file_uri"]}}`, i, prose(size/32)))
	}
	return `{"contents":[{"parts":[{"text":"<session_context>` + prose(size/8) + `"},{"text":"do it"}],"role":"user"},` +
		`{"parts":[{"thought":true,"text":"hm"},{"functionCall":{"id":"c_1","args":{"command":"ls","file_data":"x"},"name":"run_shell_command"},"thoughtSignature":"c2VhbGVk"}],"role":"model"},` +
		`{"parts":[{"functionResponse":{"name":"run_shell_command","response":{"output":"` + prose(size/8) + `"},"id":"c_1"}}],"role":"user"}],` +
		`"systemInstruction":{"parts":[{"text":"` + prose(size/8) + `"}],"role":"user"},"tools":[{"functionDeclarations":[` + strings.Join(tools, ",") + `]}],` +
		`"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}},"safetySettings":[],` +
		`"generationConfig":{"temperature":1,"topP":0.95,"topK":64,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":8192}}}`
}

// What gemini sends passes, at a bound near its size.
func TestBodyOfGemini(t *testing.T) {
	body := googleBody(46 << 10)
	call := readGoogle(t, body)
	if call.Model != geminiPro || call.SaysOutput || call.FillsWindow || call.Reaches != "" || call.Writes != WritesNone || call.Rounds != 1 || call.Choices != 1 {
		t.Errorf("%+v", call)
	}
	if n := int64(len(body)); call.Input < n || call.Input > n+3*marginBase {
		t.Errorf("%d tokens for %d bytes", call.Input, n)
	}
}

func TestEffectsOfGoogleFields(t *testing.T) {
	config := func(more string) string { return `{"contents":[],"generationConfig":{` + more + `}}` }
	part := func(more string) string { return `{"contents":[{"parts":[` + more + `]}]}` }
	for name, c := range map[string]struct {
		body string
		ok   func(Call) bool
	}{
		"a limit of the output":        {config(`"maxOutputTokens":100`), func(c Call) bool { return c.SaysOutput && c.Output == 100 && c.ExtraOutput == 0 }},
		"a limit of zero is none":      {config(`"maxOutputTokens":0`), func(c Call) bool { return !c.SaysOutput }},
		"no limit":                     {config(`"maxOutputTokens":null`), func(c Call) bool { return !c.SaysOutput }},
		"thinking within the limit":    {config(`"maxOutputTokens":100,"thinkingConfig":{"thinkingBudget":50}`), func(c Call) bool { return c.ExtraOutput == 0 }},
		"thinking beyond the limit":    {config(`"thinkingConfig":{"thinkingBudget":5000},"maxOutputTokens":100`), func(c Call) bool { return c.ExtraOutput == 5000 }},
		"thinking as the model likes":  {config(`"maxOutputTokens":100,"thinkingConfig":{"thinkingBudget":-1}`), func(c Call) bool { return c.Output == 100 && c.ExtraOutput == 0 }},
		"one answer":                   {config(`"candidateCount":1`), func(c Call) bool { return c.Choices == 1 }},
		"an image":                     {part(`{"inlineData":{"mimeType":"image/png","data":"AAAA"}}`), func(c Call) bool { return c.FillsWindow && c.Reaches == "" }},
		"a document, type last":        {part(`{"inlineData":{"data":"AAAA","mimeType":"application/pdf"}}`), func(c Call) bool { return c.FillsWindow }},
		"an image from a function":     {part(`{"functionResponse":{"name":"f","response":{},"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}}`), func(c Call) bool { return c.FillsWindow }},
		"a file elsewhere":             {part(`{"fileData":{"mimeType":"image/png","fileUri":"https://example.com/?secret"}}`), func(c Call) bool { return c.FillsWindow && c.Reaches != "" }},
		"a single content and part":    {`{"contents":{"parts":{"fileData":{"mimeType":"text/plain","fileUri":"https://example.com"}}}}`, func(c Call) bool { return c.Reaches != "" }},
		"a file in the instruction":    {`{"contents":[],"systemInstruction":{"parts":[{"fileData":{"mimeType":"text/plain","fileUri":"gs://x"}}]}}`, func(c Call) bool { return c.Reaches != "" }},
		"the model of the path, again": {`{"model":"models/` + geminiPro + `","contents":[]}`, func(c Call) bool { return c.Model == geminiPro }},
		"a tool of the model's own":    {`{"contents":[],"tools":[{"computerUse":{"environment":"ENVIRONMENT_BROWSER"}}]}`, func(c Call) bool { return c.Input > marginBuiltIn }},
	} {
		if call := readGoogle(t, c.body); !c.ok(call) {
			t.Errorf("%s: %+v", name, call)
		}
	}
}

// What has no bound is refused, and so is every name that is not known, at every
// level: Google takes names in a second spelling.
func TestUnboundedGoogleCalls(t *testing.T) {
	for body, field := range map[string]string{
		`{"contents":[],"tools":[{"googleSearch":{}}]}`:                                                        "tools",
		`{"contents":[],"tools":[{"googleSearchRetrieval":{}}]}`:                                               "tools",
		`{"contents":[],"tools":[{"functionDeclarations":[]},{"urlContext":{}}]}`:                              "tools",
		`{"contents":[],"tools":[{"codeExecution":{}}]}`:                                                       "tools",
		`{"contents":[],"tools":[{"googleMaps":{}}]}`:                                                          "tools",
		`{"contents":[],"tools":[{"fileSearch":{"fileSearchStoreNames":["x"]}}]}`:                              "tools",
		`{"contents":[],"tools":[{"google_search":{}}]}`:                                                       "tools",
		`{"contents":[],"tools":[{"newest":{}}]}`:                                                              "tools",
		`{"contents":[],"tools":[{"functionDeclarations":[{"name":"f","newest":1}]}]}`:                         "a function's declaration",
		`{"contents":[],"toolConfig":{"newest":true}}`:                                                         "toolConfig",
		`{"contents":[],"cachedContent":"cachedContents/x"}`:                                                   "cachedContent",
		`{"contents":[],"cached_content":"cachedContents/x"}`:                                                  "the request",
		`{"contents":[],"generation_config":{"max_output_tokens":1}}`:                                          "the request",
		`{"contents":[],"system_instruction":{}}`:                                                              "the request",
		`{"contents":[],"serviceTier":"priority"}`:                                                             "serviceTier",
		`{"contents":[],"generateContentRequest":{}}`:                                                          "the request",
		`{"contents":[],"generationConfig":{"max_output_tokens":1}}`:                                           "generationConfig",
		`{"contents":[],"generationConfig":{"candidateCount":2}}`:                                              "candidateCount",
		`{"contents":[],"generationConfig":{"responseModalities":["TEXT","IMAGE"]}}`:                           "responseModalities",
		`{"contents":[],"generationConfig":{"speechConfig":{}}}`:                                               "speechConfig",
		`{"contents":[],"generationConfig":{"thinkingConfig":{"thinking_budget":9}}}`:                          "thinkingConfig",
		`{"contents":[{"parts":[{"file_data":{"file_uri":"https://example.com"}}]}]}`:                          "a part",
		`{"contents":[{"parts":[{"inlineData":{"mime_type":"audio/wav"}}]}]}`:                                  "media",
		`{"contents":[{"parts":[{"inlineData":{"mimeType":"audio/wav","data":"AA"}}]}]}`:                       "media",
		`{"contents":[{"parts":[{"inlineData":{"mimeType":"video/mp4","data":"AA"},"videoMetadata":{}}]}]}`:    "media",
		`{"contents":[{"parts":[{"inlineData":{"data":"AA"}}]}]}`:                                              "media",
		`{"contents":[{"parts":[{"functionResponse":{"name":"f","parts":[{"fileData":{"file_uri":"x"}}]}}]}]}`: "media",
		`{"contents":[{"parts":[],"newest":1}]}`:                                                               "a content",
	} {
		call, err := ReadCallFor(geminiPro, Google, jsonHeader(), []byte(body))
		var unbounded *UnboundedError
		if !errors.As(err, &unbounded) || unbounded.Field != field {
			t.Errorf("%s: %v, want it refused for %s", body, err, field)
		}
		if call.Model != geminiPro {
			t.Errorf("%s: the call is not filled in: %+v", body, call)
		}
	}
}

// What Google may read in another way is malformed.
func TestMalformedGoogleCalls(t *testing.T) {
	for _, body := range []string{
		`{"contents":[],"model":"models/gemini-3.1-pro-preview"}`,
		`{"contents":[],"contents":[]}`,
		`{"contents":[],"generationConfig":{"maxOutputTokens":"100"}}`,
		`{"contents":[],"generationConfig":{"maxOutputTokens":1e3}}`,
		`{"contents":[],"generationConfig":{"maxOutputTokens":-1}}`,
		`{"contents":[],"generationConfig":{"thinkingConfig":{"thinkingBudget":-2}}}`,
		`{"contents":[],"generationConfig":{"thinkingConfig":{"thinkingBudget":"-1"}}}`,
		`{"contents":[],"generationConfig":[]}`,
		`{"contents":"text"}`,
		`{"contents":[{"parts":[{"text":7}]}]}`,
		`{"contents":[]}{}`,
		`[]`, `{`, ``,
	} {
		var unbounded *UnboundedError
		if call, err := ReadCallFor(geminiPro, Google, jsonHeader(), []byte(body)); err == nil || errors.As(err, &unbounded) {
			t.Errorf("%s: %+v, %v", body, call, err)
		}
	}
	if _, err := ReadCall(Google, jsonHeader(), []byte(`{"contents":[]}`)); err == nil {
		t.Error("a call to no model passes")
	}
}

// A count takes a whole request too, and what that names counts.
func TestGoogleCount(t *testing.T) {
	for body, want := range map[string]bool{
		`{"contents":[{"parts":[{"text":"hi"}]}]}`:                                                                                                  false,
		`{"generateContentRequest":{"model":"models/` + geminiPro + `","contents":[]}}`:                                                             false,
		`{"generateContentRequest":{"contents":[{"parts":[{"fileData":{"mimeType":"image/png","fileUri":"https://example.com"}}]}]},"contents":[]}`: true,
	} {
		call, err := ReadCallFor(geminiPro, GoogleCount, jsonHeader(), []byte(body))
		if err != nil || (call.Reaches != "") != want {
			t.Errorf("%s: %+v, %v", body, call, err)
		}
	}
}

// A long prompt makes all of a call dearer, so what may be one is held at that.
func TestGeminiTiers(t *testing.T) {
	price, ok := prices(t).Find(geminiPro)
	if !ok {
		t.Fatal("there is no price")
	}
	for _, c := range []struct {
		usage Usage
		cost  string
	}{
		{Usage{Input: 150_000, CacheRead: 50_000, Output: 1000}, "$0.20375"},
		{Usage{Input: 150_001, CacheRead: 50_000, Output: 1000}, "$0.4025025"},
	} {
		if got := price.Cost(c.usage); got.String() != c.cost {
			t.Errorf("%+v costs %v, want %s", c.usage, got, c.cost)
		}
	}
	short, long := Call{Input: 199_000, Rounds: 1, Choices: 1}, Call{Input: 201_000, Rounds: 1, Choices: 1}
	const output = 1 << 16
	if got, want := price.Worst(short), price.Cost(Usage{Input: 199_000, Output: output}); got < want || got > want+rounding {
		t.Errorf("a short call may cost %v, want %v", got, want)
	}
	if got, want := price.Worst(long), price.Cost(Usage{Input: 201_000, Output: output}); got < want || got > want+rounding {
		t.Errorf("a long call may cost %v, want %v", got, want)
	}
}

const googleStream = `data: {"candidates":[{"content":{"parts":[{"text":"**Thinking**","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":1500,"thoughtsTokenCount":30,"totalTokenCount":1530},"modelVersion":"gemini-2.5-pro"}

data: {"candidates":[{"content":{"parts":[{"text":"the \"usageMetadata\": {\"promptTokenCount\": 9}"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":1500,"candidatesTokenCount":2,"thoughtsTokenCount":30,"totalTokenCount":1532},"modelVersion":"gemini-2.5-pro"}

data: {"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1500,"cachedContentTokenCount":1000,"candidatesTokenCount":20,"thoughtsTokenCount":30,"toolUsePromptTokenCount":7,"totalTokenCount":1557,"promptTokensDetails":[{"modality":"TEXT","tokenCount":1500}]},"modelVersion":"gemini-2.5-pro"}

`

func TestReadGoogleUsage(t *testing.T) {
	whole := Usage{Input: 507, CacheRead: 1000, Output: 50}
	chunks := strings.Split(strings.TrimSpace(googleStream), "\n\n")
	list := "[" + strings.ReplaceAll(strings.Join(chunks, ","), "data: ", "") + "]"
	end := `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":`
	for name, c := range map[string]struct {
		kind, response string
		want           answer
	}{
		"a stream":              {stream, googleStream, answer{whole, true, geminiPro}},
		"a stream, CRLF":        {stream, strings.ReplaceAll(googleStream, "\n", "\r\n"), answer{whole, true, geminiPro}},
		"cut before its end":    {stream, chunks[0] + "\n\n" + chunks[1] + "\n\n", answer{Usage{}, false, geminiPro}},
		"cut amid its end":      {stream, googleStream[:len(googleStream)-60], answer{Usage{}, false, geminiPro}},
		"an error amid it":      {stream, chunks[0] + "\n\ndata: {\"error\":{\"code\":503}}\n\n", answer{Usage{}, false, geminiPro}},
		"an end without usage":  {stream, "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n", answer{}},
		"the usage after it":    {stream, "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\ndata: {\"usageMetadata\":{\"promptTokenCount\":5,\"candidatesTokenCount\":6}}\n\n", answer{Usage{Input: 5, Output: 6}, true, ""}},
		"a list of chunks":      {plain, list, answer{whole, true, geminiPro}},
		"a whole answer":        {plain, end + `{"promptTokenCount":5,"candidatesTokenCount":6,"totalTokenCount":11}}`, answer{Usage{Input: 5, Output: 6}, true, ""}},
		"output not told apart": {plain, end + `{"promptTokenCount":5,"candidatesTokenCount":6,"totalTokenCount":40}}`, answer{Usage{Input: 5, Output: 35}, true, ""}},
		"a blocked prompt":      {plain, `{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":5,"totalTokenCount":5}}`, answer{Usage{Input: 5}, true, ""}},
		"more cached than sent": {plain, end + `{"promptTokenCount":5,"cachedContentTokenCount":6}}`, answer{}},
		"a negative figure":     {plain, end + `{"promptTokenCount":5,"candidatesTokenCount":-6}}`, answer{}},
		"an absurd figure":      {plain, end + `{"promptTokenCount":5,"thoughtsTokenCount":9000000000}}`, answer{}},
		"a name twice":          {plain, end + `{"promptTokenCount":5,"promptTokenCount":6}}`, answer{}},
		"half a list":           {plain, list[:len(list)-1], answer{}},
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			if got := consume(Google, c.kind, c.response, size); got != c.want {
				t.Errorf("%s in parts of %d: %+v, want %+v", name, size, got, c.want)
			}
		}
	}
}
