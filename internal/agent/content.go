package agent

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxItems is how many items of a list are looked at. No agent says so much at
// once, and a line of empty ones would become millions of events.
const maxItems = 1000

// short is a list of which the first items are read. The rest must be JSON, too.
type short[T any] []T

// UnmarshalJSONFrom is part of json.UnmarshalerFrom.
func (s *short[T]) UnmarshalJSONFrom(in *jsontext.Decoder) error {
	if in.PeekKind() != '[' {
		return errNoList
	}
	if _, err := in.ReadToken(); err != nil {
		return err
	}
	for in.PeekKind() != ']' {
		if len(*s) >= maxItems {
			if err := in.SkipValue(); err != nil {
				return err
			}
			continue
		}
		var item T
		if err := json.UnmarshalDecode(in, &item); err != nil {
			return err
		}
		*s = append(*s, item)
	}
	_, err := in.ReadToken()
	return err
}

var errNoList = errors.New("not a list")

// blocks reads a message's content, which is a list or one mere text.
func blocks(content jsontext.Value) []claudeBlock {
	var list short[claudeBlock]
	if unmarshal(content, &list) {
		return list
	}
	if text := word(content); text != "" {
		return []claudeBlock{{Type: "text", Text: text}}
	}
	return nil
}

// plainText is the text of a value that is a text, a list of blocks with one, or
// anything else, which is shown as it is.
func plainText(value jsontext.Value) string {
	if text := word(value); text != "" {
		return text
	}
	var list short[struct {
		Text string `json:"text"`
	}]
	if !unmarshal(value, &list) {
		return string(value)
	}
	var texts []string
	for _, b := range list {
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, "\n")
}

// word is a value that is a text.
func word(value jsontext.Value) string {
	var text string
	if len(value) == 0 || value[0] != '"' || !unmarshal(value, &text) {
		return ""
	}
	return text
}

func orZero(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// recent remembers the last names that it was asked about: enough to know one
// again, and no more than a hostile stream can make it hold.
type recent struct{ names map[string]bool }

const maxRecent = 1024

// first tells whether a name is new. An empty one always is.
func (r *recent) first(name string) bool {
	if name == "" || len(name) > 256 {
		return true
	}
	if r.names[name] {
		return false
	}
	if len(r.names) >= maxRecent || r.names == nil {
		r.names = map[string]bool{}
	}
	r.names[name] = true
	return true
}
