package config

import (
	"slices"
	"strings"

	"github.com/agent-loop/ralph/internal/suggest"
)

// unknownSection reports a section that does not exist.
func (r *reader) unknownSection(parts []string, line int) {
	name := dotted(parts)
	if near := suggest.Nearest(name, r.index.sections); near != "" {
		r.complain(line, name, "["+near+"]", "unknown section [%s]", clip(name))
		return
	}
	r.complain(line, name, "", "unknown section [%s]; there are [%s]", clip(name), strings.Join(r.index.sections, "], ["))
}

// unknownKey reports a key that does not exist, or the section that its first
// parts name when that does not exist either.
func (r *reader) unknownKey(parts []string, line int) {
	section, last := parts[:len(parts)-1], parts[len(parts)-1]
	where := "at the top"
	if len(section) > 0 {
		if !slices.Contains(r.index.sections, dotted(section)) {
			r.unknownSection(section, line)
			return
		}
		where = "in [" + dotted(section) + "]"
	}
	known := r.index.below(dotted(section))
	suggestion := suggest.Nearest(last, known)
	if suggestion == "" {
		suggestion = r.index.elsewhere(last)
	}
	if suggestion == "" {
		where += "; there are " + strings.Join(known, ", ")
	}
	r.complain(line, dotted(parts), suggestion, "unknown key %s %s", quote(last), where)
}

// below lists the keys and sections directly in a section; "" is the top.
func (ix index) below(section string) []string {
	var names []string
	for _, name := range slices.Concat(ix.keys, ix.sections) {
		parent, last := "", name
		if i := strings.LastIndex(name, "."); i >= 0 {
			parent, last = name[:i], name[i+1:]
		}
		if parent == section {
			names = append(names, last)
		}
	}
	return names
}

// elsewhere finds a key by its last part alone.
func (ix index) elsewhere(last string) string {
	for _, key := range ix.keys {
		if strings.HasSuffix(key, "."+last) {
			return key
		}
	}
	return ""
}
