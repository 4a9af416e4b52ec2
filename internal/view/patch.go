package view

import (
	"bytes"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// Patch prints a patch on a terminal. What the terminal would obey, or not show, is
// written out, since all of a patch is the agent's; colours are put around the lines,
// by their first characters.
type Patch struct {
	Out   io.Writer
	Color bool

	begun   bool   // amid a line whose colour is on
	pending []byte // of the line under way
}

// maxPiece is how much of a line waits for its end.
const maxPiece = 16 << 10

// Write is part of io.Writer.
func (p *Patch) Write(data []byte) (int, error) {
	for rest := data; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		p.pending = append(p.pending, line...)
		if err := p.flush(whole); err != nil {
			return 0, err
		}
		rest = after
	}
	return len(data), nil
}

// Close prints what is left of a last line without end.
func (p *Patch) Close() error {
	if len(p.pending) == 0 && !p.begun {
		return nil
	}
	return p.flush(true)
}

// flush prints the line under way if it is whole, or as much of it as is too long to
// wait.
func (p *Patch) flush(whole bool) error {
	if !whole && len(p.pending) < maxPiece {
		return nil
	}
	text, kept := p.pending, []byte(nil)
	if !whole {
		text, kept = cutRune(text)
	}
	var line []byte
	on := p.Color && (p.begun || len(text) > 0)
	if on && !p.begun {
		line = append(line, colorOf(text)...)
	}
	line = appendShown(line, text)
	if whole && on {
		line = append(line, "\x1b[0m"...)
	}
	if whole {
		line = append(line, '\n')
	}
	p.begun, p.pending = !whole, append(p.pending[:0], kept...)
	_, err := p.Out.Write(line)
	return err
}

// cutRune cuts off a last character that is not all there yet.
func cutRune(text []byte) (whole, rest []byte) {
	for i := len(text) - 1; i >= max(0, len(text)-utf8.UTFMax); i-- {
		if utf8.RuneStart(text[i]) {
			if !utf8.FullRune(text[i:]) {
				return text[:i], text[i:]
			}
			break
		}
	}
	return text, nil
}

// colorOf is that of a line of a patch. All that a file holds has one of the first
// marks before it; what has none is a header.
func colorOf(line []byte) string {
	switch line[0] {
	case '+':
		return "\x1b[32m"
	case '-':
		return "\x1b[31m"
	case '@':
		return "\x1b[36m"
	case ' ', '\\':
		return "\x1b[0m"
	}
	return "\x1b[1m"
}

// appendShown appends a text with all that is not seen written out.
func appendShown(to, text []byte) []byte {
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			to = fmt.Appendf(to, "<%02X>", text[0])
		case r == '\t' || unicode.IsPrint(r):
			to = append(to, text[:size]...)
		case r < ' ' || r == 0x7f:
			to = append(to, '^', byte(r)^0x40)
		default:
			to = fmt.Appendf(to, "<U+%04X>", r)
		}
		text = text[size:]
	}
	return to
}
