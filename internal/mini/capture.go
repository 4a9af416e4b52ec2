package mini

import (
	"fmt"
	"strings"
	"sync"
)

// What is kept of a command's output: enough to see how it began and, where the
// errors are, how it ended.
const (
	keepHead = 12 << 10
	keepTail = 20 << 10
)

// capture takes in output without end and keeps its head and its tail. It never
// fails and never waits, so that no command hangs or dies for printing much.
type capture struct {
	mu    sync.Mutex
	head  []byte
	tail  []byte
	total int64
}

// Write is for the command.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	written := len(p)
	c.total += int64(written)
	if room := keepHead - len(c.head); room > 0 {
		n := min(room, len(p))
		c.head, p = append(c.head, p[:n]...), p[n:]
	}
	p = p[max(len(p)-keepTail, 0):]
	c.tail = append(c.tail, p...)
	if len(c.tail) > 4*keepTail { // moved seldom, bounded always
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-keepTail:]...)
	}
	return written, nil
}

// text is what was kept, made safe, with a word on what was not.
func (c *capture) text() (text string, total int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	tail := c.tail[max(len(c.tail)-keepTail, 0):]
	lost := c.total - int64(len(c.head)) - int64(len(tail))
	if lost == 0 {
		return clean(string(c.head) + string(tail)), c.total
	}
	return clean(string(c.head)) + cutMark(lost) + clean(string(tail)), c.total
}

func cutMark(bytes int64) string { return fmt.Sprintf("\n[... %d bytes cut ...]\n", bytes) }

// shorten cuts the middle out of text that is over size bytes.
func shorten(text string, size int) string {
	if len(text) <= size {
		return text
	}
	head := strings.ToValidUTF8(text[:size/2], "")
	tail := strings.ToValidUTF8(text[len(text)-size/2:], "")
	return head + cutMark(int64(len(text)-len(head)-len(tail))) + tail
}
