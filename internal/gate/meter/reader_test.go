package meter

import (
	"strings"
	"testing"
)

const (
	stream = "text/event-stream; charset=utf-8"
	plain  = "application/json"
)

// A response of Anthropic's as it streams, with a cache of both kinds.
const anthropicStream = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-8","content":[],"stop_reason":null,"usage":{"input_tokens":12,"cache_creation_input_tokens":300,"cache_read_input_tokens":4000,"cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":200},"output_tokens":1,"service_tier":"standard","inference_geo":"not_available"}}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"the \"usage\": {\"output_tokens\": 999999}"}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":12,"cache_creation_input_tokens":300,"cache_read_input_tokens":4000,"output_tokens":57}}

event: message_stop
data: {"type":"message_stop"}

`

const responsesStream = `event: response.created
data: {"type":"response.created","response":{"id":"resp_1","status":"in_progress","model":"gpt-6.1-sol-2026-09-29","usage":null}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","delta":"hi"}

event: response.completed
data: {"type":"response.completed","response":{"id":"resp_1","status":"completed","model":"gpt-6.1-sol-2026-09-29","service_tier":"priority","usage":{"input_tokens":1000,"input_tokens_details":{"cached_tokens":600,"cache_write_tokens":300},"output_tokens":70,"output_tokens_details":{"reasoning_tokens":40},"total_tokens":1070},"tool_usage":{"web_search":{"num_requests":2}}}}

`

const chatStream = `data: {"id":"c","model":"gpt-4.1-2025-04-14","choices":[{"index":0,"delta":{"content":"hi"}}],"usage":null}

data: {"id":"c","model":"gpt-4.1-2025-04-14","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}

data: {"id":"c","model":"gpt-4.1-2025-04-14","choices":[],"service_tier":"default","usage":{"prompt_tokens":50,"completion_tokens":9,"total_tokens":59,"prompt_tokens_details":{"cached_tokens":20}}}

data: [DONE]

`

type answer struct {
	usage Usage
	known bool
	model string
}

// consume feeds a response in parts of the given size.
func consume(api API, contentType, response string, size int) answer {
	r := NewReader(Call{API: api}, contentType)
	for len(response) > 0 {
		n := min(size, len(response))
		if wrote, err := r.Write([]byte(response[:n])); wrote != n || err != nil {
			panic("a reader must take everything")
		}
		response = response[n:]
	}
	var a answer
	a.usage, a.known, a.model = r.Result()
	return a
}

func TestReadUsage(t *testing.T) {
	opus := Usage{Input: 12, CacheRead: 4000, CacheWrite5m: 100, CacheWrite1h: 200, Output: 57}
	for name, c := range map[string]struct {
		api      API
		kind     string
		response string
		usage    Usage
		model    string
	}{
		"anthropic stream":          {Anthropic, stream, anthropicStream, opus, "claude-opus-4-8"},
		"anthropic stream, CRLF":    {Anthropic, stream, strings.ReplaceAll(anthropicStream, "\n", "\r\n"), opus, "claude-opus-4-8"},
		"anthropic stream, CR":      {Anthropic, stream, strings.ReplaceAll(anthropicStream, "\n", "\r"), opus, "claude-opus-4-8"},
		"anthropic, no last line":   {Anthropic, stream, strings.TrimSpace(anthropicStream), opus, "claude-opus-4-8"},
		"anthropic body":            {Anthropic, plain, `{"type":"message","model":"m","stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2,"server_tool_use":{"web_search_requests":3},"speed":"fast","inference_geo":"us"}}`, Usage{Input: 1, Output: 2, WebSearches: 3, Tier: Fast, Regional: true}, "m"},
		"writes of unknown length":  {Anthropic, plain, `{"type":"message","model":"m","usage":{"input_tokens":1,"output_tokens":2,"cache_creation_input_tokens":7,"cache_creation":null}}`, Usage{Input: 1, Output: 2, CacheWrite1h: 7}, "m"},
		"compaction is on top":      {Anthropic, plain, `{"type":"message","model":"m","usage":{"input_tokens":10,"output_tokens":20,"iterations":[{"type":"compaction","input_tokens":100,"output_tokens":5},{"type":"message","input_tokens":10,"output_tokens":20}]}}`, Usage{Input: 110, Output: 25}, "m"},
		"iterations are within":     {Anthropic, plain, `{"type":"message","model":"m","usage":{"input_tokens":30,"output_tokens":20,"iterations":[{"type":"message","input_tokens":10,"output_tokens":10},{"type":"message","input_tokens":20,"output_tokens":10}]}}`, Usage{Input: 30, Output: 20}, "m"},
		"responses stream":          {OpenAIResponses, stream, responsesStream, Usage{Input: 100, CacheRead: 600, CacheWrite5m: 300, Output: 70, WebSearches: 2, Tier: Fast}, "gpt-6.1-sol-2026-09-29"},
		"responses incomplete":      {OpenAIResponses, stream, "data: {\"type\":\"response.incomplete\",\"response\":{\"model\":\"m\",\"usage\":{\"input_tokens\":3,\"output_tokens\":4}}}\n\n", Usage{Input: 3, Output: 4}, "m"},
		"responses in two lines":    {OpenAIResponses, stream, "data:{\"type\":\"response.failed\",\ndata: \"response\":{\"model\":\"m\",\"usage\":{\"input_tokens\":3,\"output_tokens\":4}}}\n\n", Usage{Input: 3, Output: 4}, "m"},
		"two lines, CRLF":           {OpenAIResponses, stream, "data:{\"type\":\"response.failed\",\r\ndata: \"response\":{\"model\":\"m\",\"usage\":{\"input_tokens\":3,\"output_tokens\":4}}}\r\n\r\n", Usage{Input: 3, Output: 4}, "m"},
		"responses body":            {OpenAIResponses, plain, `{"model":"m","status":"completed","service_tier":"flex","usage":{"input_tokens":3,"output_tokens":4}}`, Usage{Input: 3, Output: 4, Tier: Flex}, "m"},
		"tier that is not known":    {OpenAIResponses, plain, `{"model":"m","status":"completed","service_tier":"warp","usage":{"input_tokens":3,"output_tokens":4}}`, Usage{Input: 3, Output: 4, Tier: Ultrafast}, "m"},
		"chat stream":               {OpenAIChat, stream, chatStream, Usage{Input: 30, CacheRead: 20, Output: 9}, "gpt-4.1-2025-04-14"},
		"chat with a running usage": {OpenAIChat, stream, "data: {\"model\":\"m\",\"choices\":[{}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1}}\n\ndata: {\"model\":\"m\",\"choices\":[{}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n", Usage{Input: 5, Output: 2}, "m"},
		"chat body":                 {OpenAIChat, plain, `{"model":"m","choices":[{}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`, Usage{Input: 5, Output: 2}, "m"},
	} {
		want := answer{c.usage, true, c.model}
		for _, size := range []int{1, 7, 1 << 20} {
			if got := consume(c.api, c.kind, c.response, size); got != want {
				t.Errorf("%s, in parts of %d: %+v, want %+v", name, size, got, want)
			}
		}
	}
}

// Where the final figure was not seen, or cannot be, nothing is known.
func TestUnknownUsage(t *testing.T) {
	cut := func(s, at string) string { return s[:strings.Index(s, at)] }
	for name, c := range map[string]struct {
		api      API
		kind     string
		response string
	}{
		"nothing":                    {Anthropic, stream, ""},
		"cut before the end":         {Anthropic, stream, cut(anthropicStream, "event: message_delta")},
		"cut within the last figure": {Anthropic, stream, cut(anthropicStream, `57}}`)},
		"an error after the start":   {Anthropic, stream, cut(anthropicStream, "event: message_delta") + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n"},
		"a delta before the last":    {Anthropic, stream, "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":null},\"usage\":{\"output_tokens\":5}}\n\n"},
		"a delta without a start":    {Anthropic, stream, "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\n"},
		"nothing but zeros":          {OpenAIChat, plain, `{"choices":[{}],"usage":{"prompt_tokens":0,"completion_tokens":0}}`},
		"negative":                   {Anthropic, plain, `{"type":"message","usage":{"input_tokens":-1,"output_tokens":5}}`},
		"absurd":                     {Anthropic, plain, `{"type":"message","usage":{"input_tokens":1000000001,"output_tokens":5}}`},
		"absurd iterations":          {Anthropic, plain, `{"type":"message","usage":{"input_tokens":1,"output_tokens":5,"iterations":[{"type":"compaction","input_tokens":9223372036854775807},{"type":"compaction","input_tokens":9223372036854775807}]}}`},
		"another model's iteration":  {Anthropic, plain, `{"type":"message","usage":{"input_tokens":1,"output_tokens":5,"iterations":[{"type":"advisor_message","model":"claude-fable-5","input_tokens":1}]}}`},
		"a fraction":                 {Anthropic, plain, `{"type":"message","usage":{"input_tokens":1.5,"output_tokens":5}}`},
		"usage twice":                {Anthropic, plain, `{"type":"message","usage":{"input_tokens":100,"output_tokens":5},"usage":{"input_tokens":1,"output_tokens":1}}`},
		"an error":                   {Anthropic, plain, `{"type":"error","error":{"type":"overloaded_error"}}`},
		"a page":                     {Anthropic, "text/html", `<html>`},
		"stream read as a body":      {Anthropic, plain, anthropicStream},
		"in the background":          {OpenAIResponses, plain, `{"status":"queued","usage":{"input_tokens":1,"output_tokens":1}}`},
		"failed without usage":       {OpenAIResponses, stream, "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"usage\":null}}\n\n"},
		"in progress":                {OpenAIResponses, stream, "data: {\"type\":\"response.in_progress\",\"response\":{\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n"},
		"a number in two lines":      {OpenAIResponses, stream, "data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":1\ndata: 0,\"output_tokens\":1}}}\n\n"},
		"more cached than there was": {OpenAIResponses, plain, `{"status":"completed","usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":11},"output_tokens":1}}`},
		"absurd output":              {OpenAIResponses, plain, `{"status":"completed","usage":{"input_tokens":10,"output_tokens":9223372036854775807}}`},
		"chat without usage":         {OpenAIChat, stream, "data: {\"choices\":[{}],\"usage\":null}\n\ndata: [DONE]\n\n"},
		"chat cut while running":     {OpenAIChat, stream, "data: {\"choices\":[{}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1}}\n\n"},
	} {
		for _, size := range []int{1, 1 << 20} {
			if got := consume(c.api, c.kind, c.response, size); got.known || got.usage != (Usage{}) {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
}

// A tier that was asked for and is not told of is taken to have been served: the
// one who asked must not pay less for an answer that is silent.
func TestTierThatIsNotTold(t *testing.T) {
	const (
		anthropic = `{"type":"message","usage":{"input_tokens":1,"output_tokens":2SPEED}}`
		responses = `{"status":"completed","usage":{"input_tokens":1,"output_tokens":2}TIER}`
	)
	for _, c := range []struct {
		call     Call
		response string
		want     Tier
	}{
		{Call{API: Anthropic, Tier: Fast}, strings.Replace(anthropic, "SPEED", "", 1), Fast},
		{Call{API: Anthropic, Tier: Fast}, strings.Replace(anthropic, "SPEED", `,"speed":"standard"`, 1), Standard},
		{Call{API: Anthropic}, strings.Replace(anthropic, "SPEED", `,"speed":"fast"`, 1), Fast},
		{Call{API: OpenAIResponses, Tier: Ultrafast}, strings.Replace(responses, "TIER", "", 1), Ultrafast},
		{Call{API: OpenAIResponses, Tier: Ultrafast}, strings.Replace(responses, "TIER", `,"service_tier":"auto"`, 1), Ultrafast},
		{Call{API: OpenAIResponses, Tier: Fast}, strings.Replace(responses, "TIER", `,"service_tier":"default"`, 1), Standard},
		{Call{API: OpenAIResponses}, strings.Replace(responses, "TIER", "", 1), Standard},
	} {
		r := NewReader(c.call, plain)
		_, _ = r.Write([]byte(c.response))
		if usage, known, _ := r.Result(); !known || usage.Tier != c.want {
			t.Errorf("%+v, %s: %+v, %v, want %q", c.call, c.response, usage, known, c.want)
		}
	}
}

// A response without end is not held, and leaves the usage unknown.
func TestReaderIsBounded(t *testing.T) {
	chunk := []byte(strings.Repeat("x", 1<<20))
	for _, kind := range []string{stream, plain} {
		r := NewReader(Call{API: Anthropic}, kind)
		_, _ = r.Write([]byte("data: "))
		for range 64 {
			_, _ = r.Write(chunk)
		}
		held := r.plain.Cap()
		if r.events != nil {
			held += cap(r.events.line) + cap(r.events.data)
		}
		if held > 2*maxPlain {
			t.Errorf("%s: %d bytes are held", kind, held)
		}
		_, _ = r.Write([]byte("\n\n" + anthropicStream))
		if _, known, _ := r.Result(); known {
			t.Errorf("%s: the usage is known, though a part was dropped", kind)
		}
	}
}

// The end of a large response of OpenAI's repeats it, and is still read.
func TestLargeFinalEvent(t *testing.T) {
	large := strings.Replace(responsesStream, `"id":"resp_1","status":"completed"`, `"instructions":"`+strings.Repeat("x", 4<<20)+`","status":"completed"`, 1)
	if got := consume(OpenAIResponses, stream, large, 32<<10); !got.known {
		t.Errorf("%+v", got)
	}
}
