package agent

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// blocks reads a message's content, which is a list or one mere text.
func blocks(content jsontext.Value) []claudeBlock {
	var list []claudeBlock
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
	var list []struct {
		Text string `json:"text"`
	}
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
