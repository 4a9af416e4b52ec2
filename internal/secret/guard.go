package secret

import (
	"slices"
	"strings"
)

// Guard finds known secrets in text that comes from elsewhere, so that it is not
// passed on. It knows the same forms as a Masker, and is blind to the same: values
// shorter than 8 bytes, and what is compressed, encrypted, cut into pieces or
// encoded in any other way.
//
// A Guard does not change. It may be used by several goroutines, and a nil Guard
// sees nothing.
type Guard struct {
	finder  *automaton // nil: there is nothing to find
	longest int        // of all forms
	names   []string   // the values in lower case, for names of headers
}

// NewGuard makes a Guard against these secrets. That takes about as long
// as to look through 30 KB: see Guards.
func NewGuard(secrets ...Secret) *Guard {
	g := &Guard{}
	var patterns [][]string
	for _, s := range secrets {
		value := s.Reveal()
		if len(value) < minMasked {
			continue
		}
		all := forms(value)
		for _, form := range all {
			g.longest = max(g.longest, len(form))
		}
		patterns = append(patterns, all)
		g.names = append(g.names, strings.ToLower(value))
	}
	if len(patterns) > 0 {
		g.finder = compile(patterns)
	}
	return g
}

// room is more than is ever held back.
func (g *Guard) room() int {
	if g == nil {
		return 0
	}
	return g.longest
}

func (g *Guard) isBlind() bool { return g == nil || g.finder == nil }

// SeenIn tells whether a secret is in data.
func (g *Guard) SeenIn(data []byte) bool {
	if g.isBlind() {
		return false
	}
	at, _ := g.finder.advance(0, data)
	return g.finder.ends(at)
}

// SeenInHeader tells whether a secret is in a name or a value of an http.Header.
func (g *Guard) SeenInHeader(header map[string][]string) bool {
	for name, values := range header {
		if g.SeenInField(name, values) {
			return true
		}
	}
	return false
}

// SeenInField is SeenInHeader for one name and its values. A name that is the
// secret in other letters is seen: HTTP takes them for the same.
func (g *Guard) SeenInField(name string, values []string) bool {
	if g.isBlind() {
		return false
	}
	lower := strings.ToLower(name)
	return g.SeenIn([]byte(name)) ||
		slices.ContainsFunc(g.names, func(value string) bool { return strings.Contains(lower, value) }) ||
		slices.ContainsFunc(values, func(value string) bool { return g.SeenIn([]byte(value)) })
}

// Unfinished returns how many bytes at the end of data may begin a secret whose
// rest is missing. Whoever cuts a text short must leave them out.
func (g *Guard) Unfinished(data []byte) int {
	if g.isBlind() {
		return 0
	}
	// What came before the longest form has no part in it.
	at := int32(0)
	for tail := data[max(0, len(data)-g.longest):]; len(tail) > 0; {
		var taken int
		at, taken = g.finder.advance(at, tail)
		tail = tail[taken:]
	}
	return int(g.finder.nodes[at].depth)
}
