package mini

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes text of anything: valid UTF-8 without control characters, which
// could play tricks on a terminal that shows the log. What is no text becomes
// one replacement character a run; a lone carriage return, as of a progress bar,
// becomes a line break.
func clean(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	replaced := false
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == '\r' {
			if strings.HasPrefix(text[i+1:], "\n") {
				i++ // the line break itself follows
				continue
			}
			r = '\n'
		}
		if hidden(r) {
			r = utf8.RuneError
		}
		if r != utf8.RuneError || !replaced {
			b.WriteRune(r)
		}
		replaced = r == utf8.RuneError
		i += size
	}
	return b.String()
}

// hidden tells the characters that do not show, but for line breaks and tabs:
// controls, and the marks that turn the direction of text round.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r):
		return true
	}
	return unicode.Is(unicode.Bidi_Control, r)
}

// limit cuts text to at most size bytes at a rune's edge, and says so.
func limit(text string, size int) string {
	const mark = "…"
	if len(text) <= size {
		return text
	}
	cut := max(size-len(mark), 0)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + mark
}
