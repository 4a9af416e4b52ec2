// Package plaintext makes lines for a terminal of text that may be anything: an
// agent's words, names of files and hosts, whatever a record holds.
package plaintext

import (
	"strings"
	"unicode"
)

const (
	// maxMarks bounds the marks that are piled on one letter.
	maxMarks = 4
	// maxText bounds how much of a text is looked at, and so the time it takes.
	maxText = 256 << 10
)

// Line makes one line of a hostile text, no wider than columns; less than one
// column leaves nothing. It holds nothing that a terminal would obey: no control
// characters, no escape sequences, nothing that turns the direction of the text or
// is not seen. A line that was cut ends in an ellipsis.
func Line(text string, columns int) string {
	switch {
	case columns < 1:
		return ""
	case len(text) <= columns && isPlain(text):
		return text
	}
	clean := cleaned(text, columns)
	used, fits := 0, 0 // fits: how many bytes leave room for the ellipsis
	for i, r := range clean {
		if used+Columns(r) > columns {
			return strings.TrimRight(clean[:fits], " ") + "…"
		}
		if used += Columns(r); used < columns {
			fits = i + len(string(r))
		}
	}
	return clean
}

// cleaned drops what must not be shown and folds white space. It ends where the
// text takes more than so many columns.
func cleaned(text string, columns int) string {
	var b strings.Builder
	space, marks, used := false, 0, 0
	for _, r := range text[:min(len(text), maxText)] {
		switch {
		case used > columns:
			return b.String()
		case unicode.IsSpace(r) || unicode.IsControl(r):
			space = b.Len() > 0
			continue
		case unicode.Is(unicode.Variation_Selector, r): // they change a width
			continue
		case unicode.In(r, unicode.Mn, unicode.Me):
			if marks++; marks > maxMarks || b.Len() == 0 || space {
				continue
			}
		case !unicode.IsPrint(r): // unseen, or turning the text round
			continue
		default:
			marks = 0
		}
		if space {
			b.WriteByte(' ')
			space, used = false, used+1
		}
		b.WriteRune(r)
		used += Columns(r)
	}
	return b.String()
}

// isPlain tells whether a text is words of ASCII with one space between, which are
// safe as they are. Nearly all are, and need no long look.
func isPlain(text string) bool {
	before := byte(' ')
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c > '~' || c == ' ' && before == ' ' {
			return false
		}
		before = c
	}
	return before != ' '
}

// Width is how many columns a safe text takes.
func Width(text string) (n int) {
	for _, r := range text {
		n += Columns(r)
	}
	return n
}

// Columns is how wide a terminal shows a rune, never less.
func Columns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xa960 && r <= 0xa97f, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe10 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60,
		r >= 0xffe0 && r <= 0xffe6, r >= 0x16fe0 && r <= 0x1b2ff, r >= 0x1f000 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd,
		r >= 0x2300 && r <= 0x27bf, r >= 0x2b00 && r <= 0x2bff:
		return 2
	}
	return 1
}
