package view

import (
	"fmt"
	"slices"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// JSON encodes a value as one line of JSON. What a terminal might obey, or would
// not show, is escaped, so that it reaches the reader of the JSON and nobody else.
func JSON(value any) ([]byte, error) {
	text, err := json.Marshal(value, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, err
	}
	return append(escaped(text), '\n'), nil
}

// escaped escapes what is not seen. Outside of strings JSON has only ASCII.
func escaped(text []byte) []byte {
	out := make([]byte, 0, len(text)+1)
	for len(text) > 0 {
		plain := slices.IndexFunc(text, func(b byte) bool { return b >= 0x7f })
		if plain < 0 {
			return append(out, text...)
		}
		r, size := utf8.DecodeRune(text[plain:])
		out = append(out, text[:plain]...)
		switch {
		case unicode.IsPrint(r):
			out = append(out, text[plain:plain+size]...)
		case r <= 0xffff:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
		text = text[plain+size:]
	}
	return out
}
