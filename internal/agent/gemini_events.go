package agent

import "github.com/go-json-experiment/json/jsontext"

// geminiLine is a line of gemini's stream-json, as far as ralph reads it.
type geminiLine struct {
	Type     string         `json:"type"`
	Session  string         `json:"session_id"`
	Model    string         `json:"model"`
	Role     string         `json:"role"`
	Content  string         `json:"content"`
	Delta    bool           `json:"delta"`
	Tool     string         `json:"tool_name"`
	ToolID   string         `json:"tool_id"`
	Input    jsontext.Value `json:"parameters"`
	Output   string         `json:"output"`
	Status   string         `json:"status"`
	Severity string         `json:"severity"`
	Message  string         `json:"message"`
	Error    struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
	Stats struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
		Cached int64 `json:"cached"`
	} `json:"stats"`
}

func decodeGemini() decode {
	return func(line []byte) []Event {
		var l geminiLine
		if !looksLikeObject(line) || !unmarshal(line, &l) {
			return nil
		}
		switch l.Type {
		case "init":
			return []Event{{Kind: Init, Session: l.Session, Model: l.Model}}
		case "message":
			if l.Role == "assistant" { // the other role is the prompt
				return []Event{{Kind: Text, Text: l.Content, Delta: l.Delta}}
			}
		case "tool_use":
			return []Event{{Kind: ToolCall, Tool: l.Tool, ToolID: l.ToolID, Input: string(l.Input)}}
		case "tool_result":
			return []Event{{Kind: ToolResult, ToolID: l.ToolID, Text: l.Output + l.Error.Message, Failed: l.Status == "error"}}
		case "error":
			return []Event{{Kind: ErrorEvent, Code: l.Severity, Text: l.Message}}
		case "result":
			return []Event{l.result()}
		}
		return []Event{{Kind: Raw, Code: l.Type}}
	}
}

// result takes the cached tokens out of the input, which includes them.
func (l *geminiLine) result() Event {
	usage := Usage{Input: l.Stats.Input, Output: l.Stats.Output, CacheRead: l.Stats.Cached}.Plus(Usage{})
	usage.Input = max(usage.Input-usage.CacheRead, 0)
	end := End{Success: l.Status == "success", Subtype: l.Status, IsError: l.Status != "success", Fault: l.Error.Message}
	return Event{Kind: Result, Usage: &usage, Code: l.Error.Type, End: &end}
}
