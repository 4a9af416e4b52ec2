package meter

import (
	"strings"
	"unicode/utf8"
)

// respelled is by how many tokens a JSON value can have more, in a spelling of
// the provider's, than it has bytes in the request. A text is never longer than
// its spelling here. But a value that the model is shown as JSON, such as a
// tool's schema or the input of a call, is written anew: with spaces, indented
// lines or " | " around its parts, with other scripts in escapes, with numbers
// in full.
func respelled(raw []byte) int64 {
	if len(raw) == 0 || raw[0] != '{' && raw[0] != '[' {
		return 0
	}
	const around, digits = 2, 24
	more, inString := int64(0), false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c >= utf8.RuneSelf:
			_, size := utf8.DecodeRune(raw[i:])
			more += escaped(size)
			i += size - 1
		case c == '"':
			inString = !inString
		case inString && c == '\\':
			i++
		case inString:
		case strings.IndexByte(",:{}[]", c) >= 0:
			more += around
		case c == 'E' || c == 'e' && raw[i-1] >= '0' && raw[i-1] <= '9':
			more += digits
		}
	}
	return more
}

// escaped is by how much \uXXXX, or a pair of them, is longer than the size bytes
// of the character.
func escaped(size int) int64 {
	if size == utf8.UTFMax {
		return int64(len(`\ud83d\ude00`) - size)
	}
	return int64(len(`\u00e9`) - size)
}
