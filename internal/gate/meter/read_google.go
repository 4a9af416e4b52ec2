package meter

import (
	"bytes"

	"github.com/go-json-experiment/json"
)

// googleResponse is a response, or a chunk of one.
type googleResponse struct {
	Model      string       `json:"modelVersion"`
	Usage      *googleUsage `json:"usageMetadata"`
	Candidates []struct {
		FinishReason string `json:"finishReason"`
	} `json:"candidates"`
	Feedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
}

// googleUsage is a usage as Google gives it. The prompt includes what was read
// from the cache; thoughts are beside the candidates, and what tools of the
// provider's put in is beside the prompt.
type googleUsage struct {
	Prompt     int64 `json:"promptTokenCount"`
	Cached     int64 `json:"cachedContentTokenCount"`
	Candidates int64 `json:"candidatesTokenCount"`
	Thoughts   int64 `json:"thoughtsTokenCount"`
	ToolUse    int64 `json:"toolUsePromptTokenCount"`
	Total      int64 `json:"totalTokenCount"`
}

// googleEvent reads a chunk of a stream.
func (r *Reader) googleEvent(data []byte) {
	if !bytes.Contains(data, []byte(`"usageMetadata"`)) && !bytes.Contains(data, []byte(`Reason"`)) {
		return
	}
	var chunk googleResponse
	if err := json.Unmarshal(data, &chunk); err != nil {
		r.lost = true
		return
	}
	r.google(chunk)
}

// googleBody reads a response that came whole: one object, or the list of all
// chunks when a stream was asked for without alt=sse.
func (r *Reader) googleBody(data []byte) {
	if trimmed := bytes.TrimSpace(data); len(trimmed) == 0 || trimmed[0] != '[' {
		r.googleEvent(data)
		return
	}
	var chunks []googleResponse
	if err := json.Unmarshal(data, &chunks); err != nil {
		r.lost = true
		return
	}
	for _, chunk := range chunks {
		r.google(chunk)
	}
}

// google takes over a chunk. Its usage is that of all so far, and replaces the
// one before. The answer has ended with a reason, and nothing is known for sure
// before; the usage may come with the reason or after it.
func (r *Reader) google(chunk googleResponse) {
	t := &r.tally
	if chunk.Model != "" {
		t.model = chunk.Model
	}
	for _, c := range chunk.Candidates {
		r.finished = r.finished || c.FinishReason != "" && c.FinishReason != "FINISH_REASON_UNSPECIFIED"
	}
	r.finished = r.finished || chunk.Feedback.BlockReason != ""
	if chunk.Usage != nil {
		t.google(*chunk.Usage)
	}
	r.final = r.finished
}

// google sets the figures. What the total has more than its parts is output that
// is not told apart.
func (t *tally) google(u googleUsage) {
	for _, n := range []int64{u.Prompt, u.Cached, u.Candidates, u.Thoughts, u.ToolUse, u.Total} {
		if n < 0 || n > absurd {
			t.insane = true
			return
		}
	}
	t.input, t.cacheRead, t.output = 0, 0, 0
	t.raise(&t.cacheRead, u.Cached)
	t.raise(&t.input, u.Prompt-u.Cached)
	t.input += u.ToolUse
	t.raise(&t.output, max(u.Candidates+u.Thoughts, u.Total-u.Prompt-u.ToolUse))
}
