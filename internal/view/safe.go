package view

import (
	"strings"

	"github.com/agent-loop/ralph/internal/plaintext"
)

// maxText bounds how much of a text is looked at, and so the time it takes.
const maxText = 256 << 10

// Block makes at most so many lines of a hostile text, each of them safe; lines
// with nothing to see are left out.
func Block(text string, columns, lines int) []string {
	kept, more := block(strings.SplitSeq(text[:min(len(text), maxText)], "\n"), columns, lines)
	if more {
		kept[len(kept)-1] = "…"
	}
	return kept
}

func block(all func(func(string) bool), columns, most int) (kept []string, more bool) {
	for line := range all {
		switch line = plaintext.Line(line, columns); {
		case line == "":
		case len(kept) >= most:
			return kept, most > 0
		default:
			kept = append(kept, line)
		}
	}
	return kept, false
}

// Tail is Block for the end of a text.
func Tail(text string, columns, lines int) []string {
	text = text[max(0, len(text)-maxText):]
	backwards := func(yield func(string) bool) {
		for rest, more := text, true; more; {
			i := strings.LastIndexByte(rest, '\n')
			if !yield(rest[i+1:]) {
				return
			}
			if more = i >= 0; more {
				rest = rest[:i]
			}
		}
	}
	kept, more := block(backwards, columns, lines)
	if more {
		kept[len(kept)-1] = "…"
	}
	for i, j := 0, len(kept)-1; i < j; i, j = i+1, j-1 {
		kept[i], kept[j] = kept[j], kept[i]
	}
	return kept
}
