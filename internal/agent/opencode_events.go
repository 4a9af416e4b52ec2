package agent

import "github.com/go-json-experiment/json/jsontext"

// opencodeLine is a line of "opencode run --format json", as far as ralph reads it.
type opencodeLine struct {
	Type    string       `json:"type"`
	Session string       `json:"sessionID"`
	Part    opencodePart `json:"part"`
	Error   struct {
		Name string `json:"name"`
		Data struct {
			Message string `json:"message"`
			Status  int    `json:"statusCode"`
		} `json:"data"`
	} `json:"error"`
}

type opencodePart struct {
	Text   string   `json:"text"`
	Tool   string   `json:"tool"`
	CallID string   `json:"callID"`
	Reason string   `json:"reason"`
	Cost   *float64 `json:"cost"`
	State  struct {
		Status   string         `json:"status"`
		Input    jsontext.Value `json:"input"`
		Output   string         `json:"output"`
		Error    string         `json:"error"`
		Metadata struct {
			Exit *int `json:"exit"`
		} `json:"metadata"`
	} `json:"state"`
	Tokens struct {
		Input  int64 `json:"input"`
		Output int64 `json:"output"`
		Cache  struct {
			Read  int64 `json:"read"`
			Write int64 `json:"write"`
		} `json:"cache"`
	} `json:"tokens"`
}

func decodeOpencode() decode {
	return func(line []byte) []Event {
		var l opencodeLine
		if !looksLikeObject(line) || !unmarshal(line, &l) {
			return nil
		}
		var events []Event
		switch l.Type {
		case "step_start":
			events = []Event{{Kind: Init}}
		case "text":
			events = []Event{{Kind: Text, Text: l.Part.Text}}
		case "reasoning":
			events = []Event{{Kind: Thinking, Text: l.Part.Text}}
		case "tool_use":
			events = l.Part.toolUse()
		case "step_finish":
			events = l.Part.stepFinish()
		case "error":
			message := l.Error.Data.Message
			events = []Event{{Kind: ErrorEvent, Code: l.Error.Name, Text: message, Status: l.Error.Data.Status}}
		default:
			events = []Event{{Kind: Raw, Code: l.Type}}
		}
		for i := range events {
			events[i].Session = l.Session
		}
		return events
	}
}

// toolUse is a call and its result: opencode tells of both when both are over.
func (p opencodePart) toolUse() []Event {
	text := p.State.Output
	if text == "" {
		text = p.State.Error
	}
	failed := p.State.Status == "error" || orZero(p.State.Metadata.Exit) != 0
	return []Event{
		{Kind: ToolCall, Tool: p.Tool, ToolID: p.CallID, Input: string(p.State.Input)},
		{Kind: ToolResult, Tool: p.Tool, ToolID: p.CallID, Text: text, Failed: failed},
	}
}

// stepFinish ends one call of the model, and if that asked for no tool, the turn.
func (p opencodePart) stepFinish() []Event {
	usage := Usage{
		Input: p.Tokens.Input, Output: p.Tokens.Output,
		CacheRead: p.Tokens.Cache.Read, CacheWrite: p.Tokens.Cache.Write,
	}.Plus(Usage{})
	event := Event{Kind: UsageEvent, Usage: &usage, Cost: dollars(p.Cost)}
	if p.Reason == "tool-calls" {
		return []Event{event}
	}
	return []Event{event, {Kind: Result, End: &End{Success: p.Reason == "stop", Subtype: p.Reason}}}
}
