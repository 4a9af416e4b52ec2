package proc

import (
	"bytes"
	"strings"
	"sync"
)

// Tail keeps the last part of what is written to it.
type Tail struct {
	max int

	mu  sync.Mutex
	buf bytes.Buffer
}

// NewTail keeps the last max bytes.
func NewTail(max int) *Tail { return &Tail{max: max} }

// Write takes everything.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf.Write(p)
	if over := t.buf.Len() - t.max; over > 0 {
		t.buf.Next(over)
	}
	return len(p), nil
}

// String is what was kept.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}

// LastLine is the last line that says something.
func (t *Tail) LastLine() string {
	text := strings.TrimSpace(t.String())
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
