package config

import (
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// valueOf turns a node into the Go value that a kind reads.
func valueOf(node *unstable.Node) any {
	switch node.Kind {
	case unstable.String:
		return string(node.Data)
	case unstable.Bool:
		return string(node.Data) == "true"
	case unstable.Integer, unstable.Float:
		return numberOf(string(node.Data))
	case unstable.Array:
		items := []any{}
		for it := node.Children(); it.Next(); {
			items = append(items, itemOf(it.Node()))
		}
		return items
	case unstable.InlineTable:
		return other("a table")
	default:
		return other(clip(string(node.Data))) // a date or a time
	}
}

// itemOf does not look into lists of lists: no key takes one.
func itemOf(node *unstable.Node) any {
	if node.Kind == unstable.Array {
		return other("a list")
	}
	return valueOf(node)
}

// numberOf leaves the grammar of TOML numbers to the decoder.
func numberOf(text string) any {
	var n struct{ V any }
	if err := toml.Unmarshal([]byte("V = "+text), &n); err != nil {
		return other(clip(text))
	}
	return n.V
}

// dotted writes a key as a user would. A part that is not a bare word is
// quoted, so that "sandbox.network" in quotes is not taken for two parts.
func dotted(parts []string) string {
	shown := make([]string, len(parts))
	for i, p := range parts {
		shown[i] = p
		if !isBare(p) {
			shown[i] = quote(p)
		}
	}
	return strings.Join(shown, ".")
}

func isBare(part string) bool {
	const bare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	return part != "" && len(part) <= 60 && strings.Trim(part, bare) == ""
}
