package tape

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Why a body is not on the tape.
const (
	tooLarge   = "too large"
	compressed = "compressed: secrets in it could not be masked"
	upgraded   = "another protocol followed"
)

// body is a body in the one form that gives the same bytes again. At most one
// field is set; none is set for an empty body.
type body struct {
	JSON    jsontext.Value `json:"json,omitzero"`
	Events  []string       `json:"events,omitzero"`
	Text    string         `json:"text,omitzero"`
	Base64  []byte         `json:"base64,omitzero"`
	Omitted string         `json:"omitted,omitzero"`
}

// newBody chooses the form for what was captured.
func newBody(raw []byte, contentType string) body {
	switch {
	case len(raw) == 0:
		return body{}
	case !utf8.Valid(raw):
		return body{Base64: raw}
	case strings.HasPrefix(contentType, "text/event-stream"):
		return body{Events: splitEvents(string(raw))}
	case isCompactJSON(raw):
		return body{JSON: raw}
	}
	return body{Text: string(raw)}
}

// isCompactJSON tells whether raw can stand in a line as it is: valid by the
// strict rules that the Player reads by, and without white space between its
// parts, which would be lost.
func isCompactJSON(raw []byte) bool {
	value := jsontext.Value(raw)
	if !value.IsValid() {
		return false
	}
	compact := value.Clone()
	return compact.Compact() == nil && bytes.Equal(compact, raw)
}

// bytes gives the body back. It is nil for one that was omitted.
func (b body) bytes() []byte {
	switch {
	case b.JSON != nil:
		return b.JSON
	case b.Base64 != nil:
		return b.Base64
	case b.Events != nil:
		return []byte(strings.Join(b.Events, ""))
	}
	return []byte(b.Text)
}

func (b body) check() error {
	forms := 0
	for _, set := range []bool{b.JSON != nil, b.Events != nil, b.Text != "", b.Base64 != nil, b.Omitted != ""} {
		if set {
			forms++
		}
	}
	switch {
	case forms > 1:
		return errors.New("a body in two forms")
	case len(b.bytes()) > maxBody:
		return fmt.Errorf("a body of more than %d bytes", maxBody)
	}
	return nil
}

// splitEvents cuts a stream after every blank line. Joined, the parts are the
// stream again; the last may be an event that broke off.
func splitEvents(stream string) []string {
	var events []string
	for stream != "" {
		end := eventEnd(stream)
		events = append(events, stream[:end])
		stream = stream[end:]
	}
	return events
}

// eventEnd is the length of the first event with its blank line. Lines end with
// "\n", "\r\n" or "\r".
func eventEnd(stream string) int {
	blank := false
	for i := 0; i < len(stream); i++ {
		switch stream[i] {
		case '\r', '\n':
			if stream[i] == '\r' && i+1 < len(stream) && stream[i+1] == '\n' {
				i++
			}
			if blank {
				return i + 1
			}
			blank = true
		default:
			blank = false
		}
	}
	return len(stream)
}
