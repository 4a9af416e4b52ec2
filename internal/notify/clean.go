package notify

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How many characters each text of a message may have.
const (
	maxName     = 200
	maxReason   = 500
	maxQuestion = 4000

	// maxRaw is how many bytes of a text are looked at. It is more than the most
	// bytes that the longest text can have, so that a clean text is left as it is.
	maxRaw = 64 << 10
)

// clean makes every text of the message harmless. A clean message stays as it is.
func (m Message) clean() Message {
	m.Run = oneLine(m.Run, maxName)
	m.Status = oneLine(m.Status, maxName)
	m.Project = oneLine(m.Project, maxName)
	m.Agent = oneLine(m.Agent, maxName)
	m.CostUSD = oneLine(m.CostUSD, maxName)
	m.Next = oneLine(m.Next, maxReason)
	m.Reason = oneLine(m.Reason, maxReason)
	m.Question = manyLines(m.Question, maxQuestion)
	return m
}

// oneLine makes a line of visible text, with single spaces, of anything.
func oneLine(text string, limit int) string {
	return shorten(strings.Join(strings.Fields(visible(text)), " "), limit)
}

// manyLines makes lines of visible text of anything. Never is more than one line
// in a row empty: room is a way to push other text out of sight.
func manyLines(text string, limit int) string {
	var kept []string
	for line := range strings.SplitSeq(visible(text), "\n") {
		line = strings.TrimRight(line, " ")
		if line == "" && (len(kept) == 0 || kept[len(kept)-1] == "") {
			continue
		}
		kept = append(kept, line)
	}
	return shorten(strings.TrimRight(strings.Join(kept, "\n"), " \n"), limit)
}

// shorten cuts a text to at most limit characters, and shows that it did.
func shorten(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	runes := []rune(text)[:limit-1]
	return strings.TrimRight(string(runes), " \n") + "…"
}

// escapes knows the sequences that control a terminal, of both codings: CSI; the
// strings OSC, DCS, SOS, PM and APC, to their end or the line's; all others.
var escapes = regexp.MustCompile(`(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]?` +
	`|(?:\x1b[\]PX^_]|[\x{9d}\x{90}\x{98}\x{9e}\x{9f}])[^\x07\x1b\x{9c}\r\n]*(?:\x07|\x1b\\|\x{9c})?` +
	`|\x1b[ -/]*[0-~]?`)

// visible leaves what a reader sees: valid UTF-8 whose only control character is
// the line break, and whose only other white space is the space.
func visible(text string) string {
	text = strings.ToValidUTF8(text[:min(len(text), maxRaw)], string(utf8.RuneError))
	text = escapes.ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(visibleRune, text)
}

func visibleRune(r rune) rune {
	switch {
	case strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r):
		return '\n'
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsControl(r), isInvisible(r):
		return -1
	}
	return r
}

// isInvisible tells the characters that do not show, or that change how others
// show: direction marks, joiners, tags, variation selectors, fillers. Text can be
// hidden in them, or read differently from what it is.
func isInvisible(r rune) bool {
	if unicode.Is(unicode.Prepended_Concatenation_Mark, r) {
		return false // of the format characters, these show
	}
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point,
		unicode.Variation_Selector, unicode.Noncharacter_Code_Point)
}
