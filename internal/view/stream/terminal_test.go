package stream

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// terminal is a small one that knows what a live view may say to it and fails the
// test at anything else. It wraps its rows anew when its width changes, as real
// ones do.
type terminal struct {
	t testing.TB

	mu            sync.Mutex
	columns, rows int
	lines         []termLine // with those that were scrolled out
	row, column   int        // of the cursor, counted from the first line
	noWrap        bool
	writes        int
	widest        int     // column that was reached by a line that does not wrap
	next          *[2]int // the size that it gets before it is asked again
}

// termLine is a row; it goes on in the next one if it was wrapped.
type termLine struct {
	cells   []rune
	wrapped bool
}

func newTerminal(t testing.TB, columns, rows int) *terminal {
	return &terminal{t: t, columns: columns, rows: rows, lines: make([]termLine, 1)}
}

func (m *terminal) size() (columns, rows int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.next != nil {
		m.reflow(m.next[0], m.next[1])
		m.next = nil
	}
	return m.columns, m.rows
}

// resize changes the size before the next drawing, so that none is under way.
func (m *terminal) resize(columns, rows int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next = &[2]int{columns, rows}
}

var sequence = regexp.MustCompile(`^\x1b\[(\??)([0-9]*)([A-Za-z])`)

func (m *terminal) Write(data []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.writes++
	for text := string(data); text != ""; {
		if s := sequence.FindStringSubmatch(text); s != nil {
			m.obey(s[1]+s[3], s[2])
			text = text[len(s[0]):]
			continue
		}
		r, n := utf8.DecodeRuneInString(text)
		m.put(r)
		text = text[n:]
	}
	return len(data), nil
}

func (m *terminal) obey(what, figure string) {
	n, _ := strconv.Atoi(figure)
	switch what {
	case "A":
		m.row = max(m.row-n, m.top())
	case "K":
		m.line().cells = m.line().cells[:min(m.column, len(m.line().cells))]
		m.line().wrapped = false
	case "J":
		m.obey("K", "")
		m.lines = m.lines[:m.row+1]
	case "?l", "?h":
		m.noWrap = what == "?l"
	default:
		m.t.Errorf("the terminal was told %q %q", what, figure)
	}
}

// top is the first line that is on the screen, and not scrolled out.
func (m *terminal) top() int { return max(0, len(m.lines)-m.rows) }

func (m *terminal) line() *termLine { return &m.lines[m.row] }

func (m *terminal) put(r rune) {
	switch {
	case r == '\r':
		m.column = 0
		return
	case r == '\n':
		m.down()
		return
	case r < ' ':
		m.t.Errorf("the terminal got %U", r)
	}
	wide := columnsOf(r)
	if m.column+wide > m.columns && !m.noWrap {
		m.line().wrapped = true
		m.down()
		m.column = 0
	}
	m.column = min(m.column, m.columns-wide)
	for len(m.line().cells) < m.column+wide {
		m.line().cells = append(m.line().cells, ' ')
	}
	m.line().cells[m.column] = r
	if wide == 2 {
		m.line().cells[m.column+1] = 0
	}
	if m.column += wide; m.noWrap {
		m.widest = max(m.widest, m.column)
	}
}

func (m *terminal) down() {
	if m.row++; m.row == len(m.lines) {
		m.lines = append(m.lines, termLine{})
	}
}

// reflow wraps all lines anew. The cursor must be at the start of the last one.
func (m *terminal) reflow(columns, rows int) {
	if m.column != 0 || m.row != len(m.lines)-1 {
		m.t.Errorf("the cursor rests at %d,%d of %d lines", m.row, m.column, len(m.lines))
	}
	var whole []termLine
	for i, line := range m.lines {
		if i > 0 && m.lines[i-1].wrapped {
			line.cells = append(whole[len(whole)-1].cells, line.cells...)
			whole = whole[:len(whole)-1]
		}
		whole = append(whole, line)
	}
	m.columns, m.rows, m.lines, m.widest = columns, rows, nil, 0
	for _, line := range whole {
		for len(line.cells) > columns {
			cut := columns
			if line.cells[cut] == 0 && cut > 1 { // the right half of a wide one
				cut--
			}
			m.lines = append(m.lines, termLine{line.cells[:cut:cut], true})
			line.cells = line.cells[cut:]
		}
		m.lines = append(m.lines, termLine{line.cells, false})
	}
	m.row = len(m.lines) - 1
}

// text is all that there is to see, lines that wrap as one.
func (m *terminal) text() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	for _, line := range m.lines {
		for _, r := range line.cells {
			if r != 0 {
				b.WriteRune(r)
			}
		}
		if !line.wrapped {
			b.WriteByte('\n')
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// seen is how many writes there were, and how wide a line that does not wrap got.
func (m *terminal) seen() (writes, widest int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writes, m.widest
}

func (m *terminal) String() string {
	return fmt.Sprintf("%d x %d:\n%s", m.columns, m.rows, m.text())
}
