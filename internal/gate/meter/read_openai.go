package meter

import (
	"bytes"

	"github.com/go-json-experiment/json"
)

// openAIUsage is a usage as OpenAI gives it. The input includes what was read
// from the cache and what was written to it; the two APIs have their own names.
type openAIUsage struct {
	InputTokens      int64       `json:"input_tokens"`
	InputDetails     openAIInput `json:"input_tokens_details"`
	OutputTokens     int64       `json:"output_tokens"`
	PromptTokens     int64       `json:"prompt_tokens"`
	PromptDetails    openAIInput `json:"prompt_tokens_details"`
	CompletionTokens int64       `json:"completion_tokens"`
}

type openAIInput struct {
	Cached  int64 `json:"cached_tokens"`
	Written int64 `json:"cache_write_tokens"`
}

type openAIResponse struct {
	Model       string       `json:"model"`
	Status      string       `json:"status"`
	ServiceTier string       `json:"service_tier"`
	Usage       *openAIUsage `json:"usage"`
	Choices     []struct{}   `json:"choices"`
	ToolUsage   struct {
		WebSearch struct {
			Requests int64 `json:"num_requests"`
		} `json:"web_search"`
	} `json:"tool_usage"`
}

// responsesEvent reads the event that ends a response.
func (r *Reader) responsesEvent(data []byte) {
	if !bytes.Contains(data, []byte(`"usage"`)) {
		return
	}
	var event struct {
		Type     string         `json:"type"`
		Response openAIResponse `json:"response"`
	}
	if err := json.Unmarshal(data, &event); err != nil {
		r.lost = true
		return
	}
	switch event.Type {
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.canceled":
		r.openAI(event.Response)
	}
}

func (r *Reader) responsesBody(data []byte) {
	var response openAIResponse
	if err := json.Unmarshal(data, &response); err != nil {
		r.lost = true
		return
	}
	switch response.Status {
	case "", "completed", "incomplete", "failed", "cancelled", "canceled":
		r.openAI(response)
	}
}

// chatEvent reads a chunk. The usage comes with the last one, which has no
// choices; where each chunk has it so far, it is final when the stream is done.
func (r *Reader) chatEvent(data []byte) {
	if string(bytes.TrimSpace(data)) == "[DONE]" {
		r.final = r.final || r.tally.input+r.tally.cacheRead+r.tally.output > 0
		return
	}
	if !bytes.Contains(data, []byte(`"usage"`)) {
		return
	}
	var chunk openAIResponse
	if err := json.Unmarshal(data, &chunk); err != nil {
		r.lost = true
		return
	}
	if chunk.Usage == nil {
		return
	}
	r.openAI(chunk)
	r.final = len(chunk.Choices) == 0
}

func (r *Reader) chatBody(data []byte) {
	var response openAIResponse
	if err := json.Unmarshal(data, &response); err != nil {
		r.lost = true
		return
	}
	r.openAI(response)
}

// openAI takes over a usage. Each replaces the one before.
func (r *Reader) openAI(response openAIResponse) {
	t := &r.tally
	u := response.Usage
	if u == nil {
		t.model = response.Model
		return
	}
	input, details, output := u.InputTokens, u.InputDetails, u.OutputTokens
	if r.api == OpenAIChat {
		input, details, output = u.PromptTokens, u.PromptDetails, u.CompletionTokens
	}
	*t = tally{model: response.Model, tier: r.served(response.ServiceTier), insane: t.insane || input > absurd}
	t.raise(&t.cacheRead, details.Cached)
	t.raise(&t.written, details.Written)
	t.raise(&t.written5m, details.Written)
	t.raise(&t.input, input-t.cacheRead-t.written)
	t.raise(&t.output, output)
	t.raise(&t.searches, response.ToolUsage.WebSearch.Requests)
	r.final = true
}

// served is the tier that a response says it had. If it does not say, that was
// the one asked for.
func (r *Reader) served(tier string) Tier {
	switch tier {
	case "", "auto":
		return r.asked
	case "default", "standard", "scale":
		return Standard
	case "flex":
		return Flex
	case "priority", "fast":
		return Fast
	}
	return Ultrafast // the dearest, if it is one that is not known
}
