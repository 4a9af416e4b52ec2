package stream

import (
	"fmt"
	"strings"
	"time"

	"github.com/agent-loop/ralph/internal/money"
)

// dollars shows cents, and more of an amount that is hardly any.
func dollars(a money.USD) string {
	if a > 0 && a < 10*money.Cent {
		return decimals(a, money.Dollar/10_000, 4)
	}
	return decimals(a, money.Cent, 2)
}

// decimals rounds an amount to a unit and shows so many digits after the point.
func decimals(a, unit money.USD, digits int) string {
	a = max(a, 0)
	units := int64(a / unit)
	if a%unit >= unit/2 {
		units++
	}
	per := int64(money.Dollar / unit)
	return fmt.Sprintf("$%d.%0*d", units/per, digits, units%per)
}

// span shows a length of time by its two largest units.
func span(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 48*3600:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	}
	return fmt.Sprintf("%dd%02dh", s/86400, s/3600%24)
}

// roundSpan shows 8h rather than 8h00m.
func roundSpan(d time.Duration) string {
	text := span(d)
	if len(text) > 3 {
		text = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(text, "00s"), "00m"), "00h")
	}
	return text
}

// of turns a recorded number of units into a length of time that can be reckoned
// with, whatever the number is.
func of(n int64, unit time.Duration) time.Duration {
	const most = 100 * 365 * 24 * time.Hour // a century
	return time.Duration(min(max(n, 0), int64(most/unit))) * unit
}

// size shows a number of bytes.
func size(n int64) string { return scaled(n, "B") }

// scaled shows a number with three digits or so.
func scaled(n int64, unit string) string {
	n = max(n, 0)
	value, prefix := float64(n), ""
	for _, next := range []string{"k", "M", "G", "T", "P", "E"} {
		if value < 999.5 {
			break
		}
		value, prefix = value/1000, next
	}
	figure := fmt.Sprintf("%.0f", value)
	if prefix != "" && value < 9.95 {
		figure = strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0")
	}
	if unit == "" {
		return figure + prefix
	}
	return figure + " " + prefix + unit
}

// count says "1 file" or "2 files".
func count(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// moment shows a time to come: the day too, if it is another one.
func moment(at, now time.Time) string {
	at = at.In(now.Location())
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// join puts together what there is.
func join(between string, parts ...string) string {
	kept := parts[:0:0]
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, between)
}

// with returns a text and what goes before it, or nothing.
func with(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// lastLines returns the last lines of a text that hold anything. It looks at the
// end of a long one only.
func lastLines(text string, most int) []string {
	const enough = 16 << 10
	var lines []string
	for line := range strings.Lines(text[max(0, len(text)-enough):]) {
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-most):]
}

// firstLines returns the first lines of a text that hold anything.
func firstLines(text string, most int) []string {
	const enough = 16 << 10
	var lines []string
	for line := range strings.Lines(text[:min(len(text), enough)]) {
		if strings.TrimSpace(line) != "" && len(lines) < most {
			lines = append(lines, line)
		}
	}
	return lines
}
