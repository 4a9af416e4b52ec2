package meter

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxBody is the largest request that is read: what the providers take.
const MaxBody = 32 << 20

// maxDepth is deeper than the schemas of real tools.
const maxDepth = 100

type surveyed struct {
	growth int64 // bytes by which normalising could lengthen the text
}

// survey looks at the raw bytes of a body, before it is parsed: how deep it
// nests, and by how much a tokenizer that normalises Unicode could lengthen its
// text. One character of three bytes can become eighteen of thirty-three.
func survey(body []byte) (surveyed, error) {
	var found surveyed
	if len(body) > MaxBody {
		return found, fmt.Errorf("the request body is over %d bytes", MaxBody)
	}
	depth, inString := 0, false
	for i := 0; i < len(body); i++ {
		c := body[i]
		if inString && c < utf8.RuneSelf && c != '"' && c != '\\' {
			continue // nearly all of a body
		}
		switch {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(body[i:])
			found.growth += growth(r, size)
			i += size - 1
		case c == '"':
			inString = !inString
		case inString: // a backslash; what it escapes does not end the string
			found.growth += escapedGrowth(body[i:])
			i++
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return found, errors.New("the request body nests too deep")
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return found, nil
}

// growth is by how many bytes the compatibility decomposition of r is longer
// than the size bytes that spell it.
func growth(r rune, size int) int64 {
	var buffer [utf8.UTFMax]byte
	n := utf8.EncodeRune(buffer[:], r)
	return max(0, int64(len(norm.NFKC.Properties(buffer[:n]).Decomposition())-size))
}

// escapedGrowth is the growth of a \uXXXX. Pairs of them spell characters that
// never become longer than the twelve bytes of the pair.
func escapedGrowth(text []byte) int64 {
	const size = len(`\u0000`)
	if len(text) < size || text[1] != 'u' {
		return 0
	}
	code, err := strconv.ParseUint(string(text[2:size]), 16, 16)
	if err != nil {
		return 0 // the parser will refuse it
	}
	return growth(rune(code), size)
}
