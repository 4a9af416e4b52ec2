package agent

import (
	"github.com/go-json-experiment/json/jsontext"
)

// codexLine is a line of "codex exec --json", as far as ralph reads it.
type codexLine struct {
	Type    string     `json:"type"`
	Thread  string     `json:"thread_id"`
	Message string     `json:"message"`
	Item    codexItem  `json:"item"`
	Usage   codexUsage `json:"usage"`
	Error   struct {
		Message string `json:"message"`
	} `json:"error"`
}

type codexItem struct {
	ID      string         `json:"id"`
	Type    string         `json:"type"`
	Text    string         `json:"text"`
	Message string         `json:"message"`
	Status  string         `json:"status"`
	Command string         `json:"command"`
	Output  string         `json:"aggregated_output"`
	Exit    *int           `json:"exit_code"`
	Tool    string         `json:"tool"`
	Args    jsontext.Value `json:"arguments"`
	Changes jsontext.Value `json:"changes"`
	Query   string         `json:"query"`
	Result  jsontext.Value `json:"result"`
}

type codexUsage struct {
	Input      int64 `json:"input_tokens"`
	CacheRead  int64 `json:"cached_input_tokens"`
	CacheWrite int64 `json:"cache_write_input_tokens"`
	Output     int64 `json:"output_tokens"` // reasoning included
}

// usage takes the cached tokens out of the input, which includes them.
func (u codexUsage) usage() Usage {
	cached := Usage{CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output}.Plus(Usage{})
	cached.Input = max(min(max(u.Input, 0), maxTokens)-cached.CacheRead-cached.CacheWrite, 0)
	return cached
}

func decodeCodex() decode {
	return func(line []byte) []Event {
		var l codexLine
		if !looksLikeObject(line) || !unmarshal(line, &l) {
			return nil
		}
		switch l.Type {
		case "thread.started":
			return []Event{{Kind: Init, Session: l.Thread}}
		case "item.started":
			return []Event{l.Item.started()}
		case "item.completed":
			return []Event{l.Item.completed()}
		case "error":
			return []Event{{Kind: ErrorEvent, Text: l.Message}}
		case "turn.completed":
			usage := l.Usage.usage()
			return []Event{{Kind: Result, Usage: &usage, End: &End{Success: true, Subtype: l.Type}}}
		case "turn.failed":
			return []Event{{Kind: Result, End: &End{Subtype: l.Type, IsError: true, Fault: l.Error.Message}}}
		}
		return []Event{{Kind: Raw, Code: l.Type}}
	}
}

// tool names what an item does, if it is the use of a tool.
func (i codexItem) tool() (name, input string) {
	switch i.Type {
	case "command_execution":
		return "shell", i.Command
	case "file_change":
		return "edit", string(i.Changes)
	case "mcp_tool_call":
		return i.Tool, string(i.Args)
	case "web_search":
		return "web_search", i.Query
	}
	return "", ""
}

func (i codexItem) started() Event {
	name, input := i.tool()
	if name == "" {
		return Event{Kind: Raw, Code: "item.started/" + i.Type}
	}
	return Event{Kind: ToolCall, Tool: name, ToolID: i.ID, Input: input}
}

func (i codexItem) completed() Event {
	switch i.Type {
	case "agent_message":
		return Event{Kind: Text, Text: i.Text}
	case "reasoning":
		return Event{Kind: Thinking, Text: i.Text}
	case "error": // a warning, by all that was seen
		return Event{Kind: ErrorEvent, Code: "warning", Text: i.Message}
	}
	name, _ := i.tool()
	if name == "" {
		return Event{Kind: Raw, Code: "item.completed/" + i.Type}
	}
	failed := i.Status == "failed" || i.Exit != nil && *i.Exit != 0
	return Event{Kind: ToolResult, Tool: name, ToolID: i.ID, Text: i.Output, Failed: failed}
}
