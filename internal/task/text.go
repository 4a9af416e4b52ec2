package task

import (
	"fmt"
	"strings"
	"unicode"
)

// Shorten cuts the middle out of a text that is longer than limit bytes and says
// how much is missing. Beginning and end are kept: a build's first error and its
// verdict. The result is not longer than limit, if that is at least 64.
func Shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const forNote = 48
	keep := max(limit-forNote, 0)
	head := strings.ToValidUTF8(text[:keep/3], "")
	tail := strings.ToValidUTF8(text[len(text)-(keep-keep/3):], "")
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", head, len(text)-len(head)-len(tail), tail)
}

// printable leaves out what a terminal or a model would take for more than text:
// control characters and invisible ones. Broken UTF-8 shows as question marks.
// The result is never longer than the text.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if badRune(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}

// badRune reports whether a character has no place in a text.
func badRune(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || isTag(r)
}

// isTag knows the invisible characters that spell ASCII without showing it.
func isTag(r rune) bool { return r >= 0xE0000 && r <= 0xE007F }

// badText says what is wrong with a string of the task file, or "".
func badText(s string, limit int) string {
	switch {
	case len(s) > limit:
		return fmt.Sprintf("is longer than %d bytes", limit)
	case strings.ContainsFunc(s, badRune):
		return "holds a control or an invisible character"
	}
	return ""
}

// badLine is badText for what must stand on one line and say something.
func badLine(s string, limit int) string {
	switch {
	case strings.TrimSpace(s) == "":
		return "is empty"
	case strings.Contains(s, "\n"):
		return "holds more than one line"
	}
	return badText(s, limit)
}
