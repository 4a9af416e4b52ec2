package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/agent-loop/ralph/internal/suggest"
)

// table is a kind of [[section]]: a list of entries, each with its own keys.
type table struct {
	name    string
	begin   func(l *Layer, origin string) // adds an empty entry
	columns []column
	check   func(l *Layer) []complaint // about the last entry, once it is complete
}

// column is one key of an entry.
type column struct {
	key   string
	doc   string
	read  func(any) (any, []complaint)
	store func(l *Layer, v any) // into the last entry
}

func in[T any](key, doc string, k kind[T], place func(*Layer) *T) column {
	return column{
		key: key, doc: doc,
		read: func(v any) (any, []complaint) {
			value, complaints := k.read(v)
			return value, complaints
		},
		store: func(l *Layer, v any) { *place(l) = v.(T) },
	}
}

// maxEntries bounds the entries of one table.
const maxEntries = 200

// tables lists every [[section]], in the order of the documentation.
func tables() []table { return []table{credentialTable(), priceTable()} }

func findTable(name string) (table, bool) {
	for _, t := range tables() {
		if t.name == name {
			return t, true
		}
	}
	return table{}, false
}

// enterTable begins an entry. It reports whether name is a table at all.
func (r *reader) enterTable(kind unstable.Kind, name string, line int) bool {
	t, ok := findTable(name)
	if !ok {
		return false
	}
	if kind != unstable.ArrayTable {
		r.complain(line, name, "[["+name+"]]", "[%s] is one of a list of entries", name)
		return true
	}
	if r.entries++; r.entries > maxEntries {
		r.complain(line, name, "", "[[%s]]: more than %d entries", name, maxEntries)
		return true
	}
	t.begin(r.layer, fmt.Sprintf("%s:%d", r.file, line))
	r.table, r.tableLine, r.skip = &t, line, false
	return true
}

// assignEntry gives a key of the entry its value.
func (r *reader) assignEntry(parts []string, node *unstable.Node, line int) {
	key := dotted(parts)
	i := slices.IndexFunc(r.table.columns, func(c column) bool { return c.key == key })
	if i < 0 {
		var known []string
		for _, c := range r.table.columns {
			known = append(known, c.key)
		}
		r.complain(line, key, suggest.Nearest(key, known), "unknown key %s in [[%s]]; there are %s", quote(key), r.table.name, strings.Join(known, ", "))
		return
	}
	name := fmt.Sprintf("%s#%d.%s", r.table.name, r.entries, key)
	if first, again := r.seen[name]; again {
		r.complain(line, key, "", "duplicate key %s, first set on line %d", key, first)
		return
	}
	r.seen[name] = line
	value, complaints := r.table.columns[i].read(valueOf(node))
	for _, c := range complaints {
		r.complain(r.itemLine(node, c.item, line), key, c.suggestion, "%s.%s: %s", r.table.name, key, c.text)
	}
	if len(complaints) == 0 {
		r.table.columns[i].store(r.layer, value)
	}
}

// leaveTable checks the entry that ends here.
func (r *reader) leaveTable() {
	if r.table == nil {
		return
	}
	for _, c := range r.table.check(r.layer) {
		r.complain(r.tableLine, r.table.name, c.suggestion, "[[%s]]: %s", r.table.name, c.text)
	}
	r.table = nil
}
