package meter

import (
	"bytes"

	"github.com/go-json-experiment/json"
)

// anthropicUsage is a usage as Anthropic gives it, in a message, a delta or one
// of its iterations.
type anthropicUsage struct {
	Type          string `json:"type"` // of an iteration
	InputTokens   int64  `json:"input_tokens"`
	OutputTokens  int64  `json:"output_tokens"`
	CacheRead     int64  `json:"cache_read_input_tokens"`
	CacheCreation int64  `json:"cache_creation_input_tokens"`
	Written       struct {
		FiveMinutes int64 `json:"ephemeral_5m_input_tokens"`
		OneHour     int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	ServerToolUse struct {
		WebSearches int64 `json:"web_search_requests"`
	} `json:"server_tool_use"`
	Speed        string           `json:"speed"`
	InferenceGeo string           `json:"inference_geo"`
	Iterations   []anthropicUsage `json:"iterations"`
}

type anthropicMessage struct {
	Type       string          `json:"type"`
	Model      string          `json:"model"`
	StopReason string          `json:"stop_reason"`
	Usage      *anthropicUsage `json:"usage"`
}

// anthropicEvent reads message_start and message_delta. The figures of a delta
// are cumulative, and the one with a reason to stop has the last ones.
func (r *Reader) anthropicEvent(data []byte) {
	if !bytes.Contains(data, []byte(`"usage"`)) {
		return
	}
	var event struct {
		Type    string           `json:"type"`
		Message anthropicMessage `json:"message"`
		Delta   struct {
			StopReason string `json:"stop_reason"`
		} `json:"delta"`
		Usage *anthropicUsage `json:"usage"`
	}
	if err := json.Unmarshal(data, &event); err != nil {
		r.lost = true
		return
	}
	switch {
	case event.Type == "message_start" && event.Message.Usage != nil:
		r.tally.model = event.Message.Model
		r.anthropic(event.Message.Usage)
	case event.Type == "message_delta" && event.Usage != nil:
		r.anthropic(event.Usage)
		r.final = event.Delta.StopReason != ""
	}
}

func (r *Reader) anthropicBody(data []byte) {
	var message anthropicMessage
	if err := json.Unmarshal(data, &message); err != nil || message.Usage == nil {
		r.lost = true
		return
	}
	r.tally.model = message.Model
	r.anthropic(message.Usage)
	r.final = message.Type == "message"
}

// anthropic adds a usage. Iterations are within its figures, but for those that
// summarise, which are billed on top; those of another model have another price
// and leave the usage unknown.
func (r *Reader) anthropic(u *anthropicUsage) {
	var sampled, summarised anthropicUsage
	for _, i := range u.Iterations {
		switch i.Type {
		case "message":
			sampled.add(i)
		case "compaction":
			summarised.add(i)
		default:
			r.lost = true
		}
	}
	sampled.atLeast(*u)
	sampled.add(summarised)
	r.tallyAnthropic(sampled)
	r.tally.raise(&r.tally.searches, u.ServerToolUse.WebSearches)
	switch u.Speed {
	case "fast":
		r.tally.tier = Fast
	case "standard":
		r.tally.tier = Standard
	}
	switch u.InferenceGeo {
	case "", "global", "not_available":
	default:
		r.tally.regional = true
	}
}

func (r *Reader) tallyAnthropic(u anthropicUsage) {
	t := &r.tally
	t.raise(&t.input, u.InputTokens)
	t.raise(&t.output, u.OutputTokens)
	t.raise(&t.cacheRead, u.CacheRead)
	t.raise(&t.written, u.CacheCreation)
	t.raise(&t.written5m, u.Written.FiveMinutes)
	t.raise(&t.written1h, u.Written.OneHour)
}

// figures are the counts that add up.
func (u *anthropicUsage) figures() []*int64 {
	return []*int64{&u.InputTokens, &u.OutputTokens, &u.CacheRead, &u.CacheCreation, &u.Written.FiveMinutes, &u.Written.OneHour}
}

// add sums up, but keeps a figure that cannot be for what it is.
func (u *anthropicUsage) add(v anthropicUsage) {
	more := v.figures()
	for i, figure := range u.figures() {
		if n := *more[i]; n < 0 || n > absurd || *figure < 0 || *figure > absurd {
			*figure = -1
		} else {
			*figure += n
		}
	}
}

func (u *anthropicUsage) atLeast(v anthropicUsage) {
	other := v.figures()
	for i, figure := range u.figures() {
		if *figure < 0 || *other[i] < 0 {
			*figure = -1
		} else {
			*figure = max(*figure, *other[i])
		}
	}
}
