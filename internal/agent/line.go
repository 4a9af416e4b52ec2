package agent

import (
	"fmt"
	"strings"
	"unicode"
)

// Line is the event as one line for a terminal, no wider than width columns. It
// holds nothing that a terminal would obey: no control characters, no escape
// sequences, nothing that turns the direction of the text or is not seen.
func (e Event) Line(width int) string {
	return safe(e.describe(), width)
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

// safe makes one line of hostile text that fits into columns.
func safe(text string, columns int) string {
	var b strings.Builder
	used, space, marks := 0, false, 0
	for _, r := range text {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			space = b.Len() > 0
			continue
		case unicode.In(r, unicode.Mn, unicode.Me):
			if marks++; marks > 4 || b.Len() == 0 {
				continue
			}
		case !unicode.IsPrint(r): // Cf and the like: unseen, or turning the text round
			continue
		default:
			marks = 0
		}
		need := columnsOf(r)
		if space && marks == 0 {
			need++
		}
		if used+need > columns-1 { // the last column is for the sign that there is more
			if used < columns {
				b.WriteRune('…')
			}
			break
		}
		if space && marks == 0 {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
		used += need
	}
	return b.String()
}

// isBlank tells whether a text has nothing to see in it.
func isBlank(text string) bool { return safe(text, 8) == "" }

// columnsOf is how wide a terminal shows a rune, never less.
func columnsOf(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60,
		r >= 0xffe0 && r <= 0xffe6, r >= 0x1f000 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd,
		r >= 0x2300 && r <= 0x27bf:
		return 2
	}
	return 1
}
