package agent

import (
	"fmt"
	"strings"

	"github.com/agent-loop/ralph/internal/plaintext"
)

// Line is the event as one line for a terminal, no wider than width columns. It
// holds nothing that a terminal would obey: no control characters, no escape
// sequences, nothing that turns the direction of the text or is not seen.
func (e Event) Line(width int) string {
	return plaintext.Line(e.describe(), width)
}

// describe is not safe yet.
func (e Event) describe() string {
	switch e.Kind {
	case Init:
		return "session " + e.Session + " " + e.Model
	case ToolCall:
		return "-> " + e.Tool + " " + head(e.Input)
	case ToolResult:
		if e.Failed {
			return "<- failed: " + head(e.Text)
		}
		return "<- " + head(e.Text)
	case UsageEvent:
		return "used " + e.Usage.String()
	case RateLimit:
		return "limit " + e.Code + " " + e.Limit.String()
	case Retry:
		return strings.TrimSpace(fmt.Sprintf("trying again: %s %s", e.Code, e.Retry))
	case Result:
		if e.End != nil && !e.End.Success {
			return "ended: " + e.End.Subtype + " " + e.End.Terminal + " " + first(head(e.End.Fault), head(e.Text))
		}
		return "done: " + head(e.Text)
	case ErrorEvent:
		return "error: " + e.Code + " " + head(e.Text)
	case Raw:
		return fmt.Sprintf("%s %d bytes: %s", first(e.Code, "?"), e.Size, head(string(e.Raw)))
	}
	return head(e.Text)
}

// String is for people.
func (u *Usage) String() string {
	if u == nil {
		return ""
	}
	return fmt.Sprintf("%d in, %d cached, %d written, %d out", u.Input, u.CacheRead, u.CacheWrite, u.Output)
}

// String is for people.
func (l *Limit) String() string {
	if l == nil || l.Until.IsZero() {
		return ""
	}
	return l.Window + " until " + l.Until.Format("2006-01-02 15:04 MST")
}

// String is for people.
func (a *Attempt) String() string {
	if a == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d in %d ms", a.Number, a.Max, a.DelayMS)
}

// head is as much of a text as any line can show.
func head(text string) string { return text[:min(len(text), 4<<10)] }

// isBlank tells whether a text has nothing to see in it.
func isBlank(text string) bool { return plaintext.Line(text, 8) == "" }
