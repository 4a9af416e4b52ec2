package view

import (
	"bufio"
	"io"
	"strings"
)

const (
	columnGap = 2
	// minLast is the least room for the last column, however narrow the screen.
	minLast = 12
	// maxCell bounds a column that is not the last.
	maxCell = 64
	// maxLine is how wide a line is where nobody says how wide the screen is.
	maxLine = 400
)

// table lays hostile cells out in columns. All but the last are as wide as they
// need to be; the last gets the rest of the screen.
type table struct{ rows [][]string }

func (t *table) row(cells ...string) {
	for i := range len(cells) - 1 {
		cells[i] = Safe(cells[i], maxCell)
	}
	t.rows = append(t.rows, cells)
}

// write prints the table for a screen of so many columns; 0 for no screen.
func (t *table) write(out io.Writer, screen int) error {
	widths := t.widths()
	rest := screenOr(screen)
	for _, w := range widths {
		rest -= w + columnGap
	}
	b := bufio.NewWriter(out)
	for _, cells := range t.rows {
		last := len(cells) - 1
		var line strings.Builder
		for i, cell := range cells[:last] {
			line.WriteString(cell + strings.Repeat(" ", widths[i]-width(cell)+columnGap))
		}
		line.WriteString(Safe(cells[last], max(rest, minLast)))
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.Flush()
}

// widths are those of all columns but the last.
func (t *table) widths() []int {
	var widths []int
	for _, cells := range t.rows {
		for i, cell := range cells[:len(cells)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], width(cell))
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
