package agent

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-loop/ralph/internal/money"
)

// claudeLine is a line of stream-json, as far as ralph reads it.
type claudeLine struct {
	Type      string         `json:"type"`
	Subtype   string         `json:"subtype"`
	Session   string         `json:"session_id"`
	Parent    *string        `json:"parent_tool_use_id"`
	Error     jsontext.Value `json:"error"`
	Model     string         `json:"model"`
	Message   claudeMessage  `json:"message"`
	LimitInfo claudeLimit    `json:"rate_limit_info"`

	Attempt    int     `json:"attempt"`
	MaxRetries int     `json:"max_retries"`
	DelayMS    float64 `json:"retry_delay_ms"`
	Status     *int    `json:"error_status"`

	claudeResult
}

type claudeMessage struct {
	ID      string         `json:"id"`
	Model   string         `json:"model"`
	Content jsontext.Value `json:"content"`
	Usage   *claudeUsage   `json:"usage"`
}

type claudeUsage struct {
	Input      int64 `json:"input_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

type claudeBlock struct {
	Type     string         `json:"type"`
	Text     string         `json:"text"`
	Thinking string         `json:"thinking"`
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Input    jsontext.Value `json:"input"`
	ToolID   string         `json:"tool_use_id"`
	Content  jsontext.Value `json:"content"`
	IsError  bool           `json:"is_error"`
}

type claudeLimit struct {
	Status string  `json:"status"`
	Resets float64 `json:"resetsAt"`
	Window string  `json:"rateLimitType"`
}

type claudeResult struct {
	IsError   bool                  `json:"is_error"`
	APIStatus *int                  `json:"api_error_status"`
	Turns     int                   `json:"num_turns"`
	Result    string                `json:"result"`
	Stop      *string               `json:"stop_reason"`
	Terminal  string                `json:"terminal_reason"`
	Cost      *float64              `json:"total_cost_usd"`
	Denials   short[jsontext.Value] `json:"permission_denials"`
	Errors    short[string]         `json:"errors"`

	ModelUsage map[string]struct {
		Input      int64 `json:"inputTokens"`
		Output     int64 `json:"outputTokens"`
		CacheRead  int64 `json:"cacheReadInputTokens"`
		CacheWrite int64 `json:"cacheCreationInputTokens"`
	} `json:"modelUsage"`
}

// decodeClaude reads stream-json. One message comes in several lines, a block
// each, and its usage in every one of them: it is told once.
func decodeClaude() decode {
	told := &recent{}
	return func(line []byte) []Event {
		var l claudeLine
		if !looksLikeObject(line) || !unmarshal(line, &l) {
			return nil
		}
		switch l.Type {
		case "system":
			return l.system()
		case "assistant":
			return l.assistant(told)
		case "user":
			return l.toolResults()
		case "rate_limit_event":
			return []Event{l.limit()}
		case "result":
			return []Event{l.result()}
		}
		return []Event{{Kind: Raw, Code: l.Type}}
	}
}

func (l *claudeLine) system() []Event {
	switch l.Subtype {
	case "init":
		return []Event{{Kind: Init, Session: l.Session, Model: l.Model}}
	case "api_retry":
		delay := int64(min(max(l.DelayMS, 0), 1e9))
		return []Event{{
			Kind: Retry, Session: l.Session, Code: word(l.Error), Status: orZero(l.Status),
			Retry: &Attempt{Number: l.Attempt, Max: l.MaxRetries, DelayMS: delay},
		}}
	}
	return []Event{{Kind: Raw, Code: "system/" + l.Subtype}}
}

// assistant reads what the model said. A message with an error is Claude Code's
// own, about a call that failed: its words are not the model's.
func (l *claudeLine) assistant(told *recent) []Event {
	var events []Event
	for _, b := range blocks(l.Message.Content) {
		event := Event{Session: l.Session, Model: l.Message.Model, Subagent: l.Parent != nil}
		switch b.Type {
		case "text":
			event.Kind, event.Text = Text, b.Text
			if code := word(l.Error); code != "" {
				event.Kind, event.Code = ErrorEvent, code
			}
		case "thinking":
			event.Kind, event.Text = Thinking, b.Thinking
		case "tool_use":
			event.Kind, event.Tool, event.ToolID, event.Input = ToolCall, b.Name, b.ID, string(b.Input)
		default:
			event.Kind, event.Code = Raw, "assistant/"+b.Type
		}
		events = append(events, event)
	}
	if u := l.Message.Usage; u != nil && len(events) > 0 && told.first(l.Message.ID) {
		// What went out is not known yet; the result has it.
		usage := Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}.Plus(Usage{})
		events = append(events, Event{Kind: UsageEvent, Session: l.Session, Model: l.Message.Model, Subagent: l.Parent != nil, Usage: &usage})
	}
	return events
}

func (l *claudeLine) toolResults() []Event {
	var events []Event
	for _, b := range blocks(l.Message.Content) {
		if b.Type != "tool_result" {
			events = append(events, Event{Kind: Raw, Code: "user/" + b.Type})
			continue
		}
		events = append(events, Event{
			Kind: ToolResult, Session: l.Session, ToolID: b.ToolID, Text: plainText(b.Content),
			Failed: b.IsError, Subagent: l.Parent != nil,
		})
	}
	return events
}

func (l *claudeLine) limit() Event {
	limit := Limit{Rejected: l.LimitInfo.Status == "rejected", Window: l.LimitInfo.Window}
	if at := l.LimitInfo.Resets; at > 0 && at < 1e11 {
		limit.Until = time.Unix(int64(at), 0).UTC()
	}
	return Event{Kind: RateLimit, Session: l.Session, Code: l.LimitInfo.Status, Limit: &limit}
}

// result reads the last word. Its own usage leaves out agents' agents, so the
// sum over the models is taken.
func (l *claudeLine) result() Event {
	end := End{
		Subtype: l.Subtype, Terminal: l.Terminal, IsError: l.IsError, Status: orZero(l.APIStatus),
		Turns: l.Turns, Denials: len(l.Denials),
	}
	if l.Stop != nil {
		end.Stop = *l.Stop
	}
	if len(l.Errors) > 0 {
		end.Fault = l.Errors[0]
	}
	end.Success = end.Subtype == "success" && !end.IsError && end.Terminal == "completed" &&
		end.Turns > 0 && end.Denials == 0 && l.Result != ""
	var usage Usage
	for _, u := range l.ModelUsage {
		usage = usage.Plus(Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite})
	}
	return Event{Kind: Result, Session: l.Session, Text: l.Result, Status: end.Status, Usage: &usage, Cost: dollars(l.Cost), End: &end}
}

// dollars is an amount that an agent named, or nothing if it is none.
func dollars(amount *float64) *money.USD {
	if amount == nil {
		return nil
	}
	usd, err := money.FromFloat(*amount)
	if err != nil || usd < 0 {
		return nil
	}
	return &usd
}
