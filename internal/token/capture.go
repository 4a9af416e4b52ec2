package token

import (
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/agent-loop/ralph/internal/secret"
)

// maxCaptured is how much of the end of a program's output is looked at.
const maxCaptured = 256 << 10

// hiddenPrefix begins what is never shown.
const hiddenPrefix = "sk-ant-"

// Capture stands between a program that prints a Claude token and the user's
// screen: what it writes goes through, but with asterisks for the token, which
// is kept. It may be written to and asked at the same time.
type Capture struct {
	screen io.Writer

	mu   sync.Mutex
	tail []byte

	escape  escapeState
	matched int // how much of hiddenPrefix was just written
	hiding  bool
	wrapped bool // the line has just begun, and the token may go on in it
}

// NewCapture passes on to screen.
func NewCapture(screen io.Writer) *Capture { return &Capture{screen: screen} }

// Write is part of io.Writer.
func (c *Capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tail = append(c.tail, p...)
	if extra := len(c.tail) - maxCaptured; extra > maxCaptured {
		c.tail = append(c.tail[:0], c.tail[extra:]...)
	}
	shown := make([]byte, len(p))
	for i, b := range p {
		shown[i] = c.show(b)
	}
	return c.screen.Write(shown)
}

// show is what the screen gets for a byte. Escape sequences go through, also
// amid a token, which they may colour.
func (c *Capture) show(b byte) byte {
	if c.escape = c.escape.next(b); c.escape != inText {
		return b
	}
	switch {
	case c.hiding && isTokenByte(b):
		c.wrapped = false
		return '*'
	case c.hiding && (b == '\r' || b == ' ' && c.wrapped || b == '\n' && !c.wrapped):
		c.wrapped = c.wrapped || b == '\n'
		return b
	case b == hiddenPrefix[c.matched]:
		c.matched++
	case b == hiddenPrefix[0]:
		c.matched = 1
	default:
		c.matched = 0
	}
	c.hiding, c.wrapped = c.matched == len(hiddenPrefix), false
	if c.hiding {
		c.matched = 0
	}
	return b
}

func isTokenByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '-' || b == '_'
}

var tokenInText = regexp.MustCompile(`sk-ant-oat[0-9]{2}-[A-Za-z0-9_-]+`)

// Token returns the last set-up token that was printed. The zero Secret means
// that there was none.
func (c *Capture) Token() secret.Secret {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines := strings.Split(plainText(c.tail), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		at := tokenInText.FindStringIndex(lines[i])
		if at == nil {
			continue
		}
		text := lines[i][at[0]:at[1]]
		if strings.TrimRight(lines[i][at[1]:], " \r") == "" && utf8.RuneCountInString(lines[i][:at[1]]) >= wrapWidth {
			text += continuation(lines[i+1:])
		}
		if len(text) >= minKeySize && len(text) <= MaxSize {
			return secret.New(text)
		}
	}
	return secret.Secret{}
}

// wrapWidth is the length from which on a line may have been broken by a program
// that wraps its own output.
const wrapWidth = 60

// continuation is the rest of a token that was wrapped: lines of nothing else.
func continuation(lines []string) string {
	var rest strings.Builder
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" || strings.ContainsFunc(line, func(r rune) bool { return r > '~' || !isTokenByte(byte(r)) }) {
			break
		}
		rest.WriteString(line)
	}
	return rest.String()
}
