package view

import (
	"io"
	"strings"

	"github.com/agent-loop/ralph/internal/plaintext"
)

const (
	columnGap = 2
	// minLast is the least room for the last column of a table, and for a value.
	minLast = 12
	// maxCell bounds a column that is not the last.
	maxCell = 64
	// maxLine is how wide a line is where nobody says how wide the screen is.
	maxLine = 400
)

// table lays hostile cells out in columns. All but the last are as wide as they
// need to be; the last gets the rest of the screen. Columns for which a screen is too
// narrow are left out.
type table struct{ rows [][]string }

func (t *table) row(cells ...string) {
	for i := range len(cells) - 1 {
		cells[i] = plaintext.Line(cells[i], maxCell)
	}
	t.rows = append(t.rows, cells)
}

// write prints the table for a screen of so many columns; 0 for no screen.
func (t *table) write(out io.Writer, screen int) error {
	widths := t.widths()
	shown, rest := fitting(widths, screenOr(screen))
	var b strings.Builder
	for _, cells := range t.rows {
		last := len(cells) - 1
		var line strings.Builder
		for i, cell := range cells[:min(shown, last)] {
			line.WriteString(cell + strings.Repeat(" ", widths[i]-plaintext.Width(cell)+columnGap))
		}
		if shown > last {
			line.WriteString(plaintext.Line(cells[last], rest))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// fitting tells how many columns a screen has room for, one at least, and how much
// the last of all may take.
func fitting(widths []int, screen int) (shown, rest int) {
	rest = screen
	for i, w := range widths {
		if i > 0 && w > rest {
			return i, 0
		}
		rest -= w + columnGap
	}
	if rest < minLast {
		return len(widths), 0
	}
	return len(widths) + 1, rest
}

// widths are those of all columns but the last.
func (t *table) widths() []int {
	var widths []int
	for _, cells := range t.rows {
		for i, cell := range cells[:len(cells)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], plaintext.Width(cell))
		}
	}
	return widths
}

func screenOr(screen int) int {
	if screen <= 0 {
		return maxLine
	}
	return screen
}
