package stream

import (
	"fmt"
	"io"
	"slices"
	"unicode"

	"golang.org/x/text/width"
)

// screen keeps a few lines at the bottom of a terminal. The cursor rests at the
// beginning of the row below them.
type screen struct {
	out   io.Writer
	size  func() (columns, rows int)
	shown []string // what stands there now
	width int      // of the terminal, when that was drawn
	draft []byte   // scratch
}

// What a terminal is told. Lines are safe and narrow; they do not wrap even so
// where the terminal thinks them wider than we do.
const (
	noWrap     = "\x1b[?7l"
	wrap       = "\x1b[?7h"
	clearRest  = "\x1b[K"
	clearBelow = "\x1b[J"
	newLine    = "\r\n"
)

// bounds is the size of the terminal, or that of a usual one if it has none.
func (s *screen) bounds() (columns, rows int) {
	columns, rows = s.size()
	if columns <= 0 {
		columns = 80
	}
	if rows <= 0 {
		rows = 24
	}
	return columns, rows
}

// draw replaces the lines that are shown and puts others above them, which stay.
// The lines are made for a terminal of this size. All of it is one write, or a
// terminal could show half of it.
func (s *screen) draw(columns, rows int, above, lines []string) error {
	lines = lines[:min(len(lines), rows-1)]
	if len(above) == 0 && slices.Equal(lines, s.shown) && (columns == s.width || len(lines) == 0) {
		return nil
	}
	out := append(s.draft[:0], '\r')
	if up := min(rowsOf(s.shown, columns), rows-1); up > 0 {
		out = fmt.Appendf(out, "\x1b[%dA", up)
	}
	out = appendLines(out, above)
	out = append(appendLines(append(out, noWrap...), lines), wrap...)
	if len(above)+len(lines) > 0 {
		out = append(out, clearBelow...)
	} else { // from the second row on, or some terminals keep all as scrolled out
		out = append(out, clearRest+newLine+clearBelow+"\x1b[1A"...)
	}
	s.draft, s.shown, s.width = out, append(s.shown[:0], lines...), columns
	_, err := s.out.Write(out)
	return err
}

// appendLines writes lines over what stands there. A row is cleared before, for it
// may be known as one that goes on in the next, and after.
func appendLines(out []byte, lines []string) []byte {
	for _, line := range lines {
		out = append(append(append(out, clearRest...), line...), clearRest+newLine...)
	}
	return out
}

// rowsOf is how many rows lines take in a terminal that was made narrower since
// they were drawn: nearly all terminals then wrap what was one row.
func rowsOf(lines []string, columns int) int {
	rows := 0
	for _, line := range lines {
		rows++
		used := 0
		for _, r := range line {
			wide := columnsOf(r)
			if used += wide; used > columns { // a wide one is not split
				rows++
				used = wide
			}
		}
	}
	return rows
}

// columnsOf is how wide a terminal shows a rune.
func columnsOf(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
