package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Parse reads the content of a configuration file; name is used in messages.
// The error is an *Error with every problem, in the order of lines.
func Parse(name string, data []byte) (*Layer, error) {
	data = slices.Clip(bytes.TrimPrefix(data, []byte("\ufeff")))
	r := &reader{file: name, data: data, breaks: lineBreaks(data), index: newIndex(), layer: &Layer{}, seen: map[string]int{}}
	r.walk()
	if len(r.problems) == 0 {
		r.checkWhole()
	}
	if len(r.problems) > 0 {
		return nil, &Error{Problems: r.report()}
	}
	return r.layer, nil
}

// reader walks over a TOML document once and collects what it finds, good and
// bad. go-toml's own decoder would stop at the first value of a wrong type.
type reader struct {
	file     string
	data     []byte
	breaks   []int // offsets of the line breaks
	parser   unstable.Parser
	index    index
	layer    *Layer
	problems []Problem
	seen     map[string]int // line of each key, and of each [section]

	section []string // the keys that follow belong here
	skip    bool     // the section is unknown, and that was said

	table     *table // the keys that follow belong to its last entry
	tableLine int
	entries   int
}

func (r *reader) walk() {
	r.parser.Reset(r.data)
	for !r.full() && r.parser.NextExpression() {
		node := r.parser.Expression()
		parts, line := r.key(node)
		switch {
		case node.Kind != unstable.KeyValue:
			r.enter(node.Kind, parts, line)
		case r.table != nil:
			r.assignEntry(parts, node.Value(), line)
		case !r.skip:
			r.assign(slices.Concat(r.section, parts), node.Value(), line)
		}
	}
	r.leaveTable()
	var syntax *unstable.ParserError
	if errors.As(r.parser.Error(), &syntax) {
		r.complain(r.lineAt(len(r.data)-cap(syntax.Highlight)), "", "", "%s", printable(syntax.Message))
	}
}

// key returns the parts of a dotted key and the line it is on.
func (r *reader) key(node *unstable.Node) ([]string, int) {
	var parts []string
	line := 0
	for it := node.Key(); it.Next(); {
		if line == 0 {
			line = r.lineAt(int(it.Node().Raw.Offset))
		}
		parts = append(parts, string(it.Node().Data))
	}
	return parts, line
}

// enter begins a section.
func (r *reader) enter(kind unstable.Kind, parts []string, line int) {
	name := dotted(parts)
	r.leaveTable()
	r.section, r.skip = parts, true
	if r.enterTable(kind, name, line) {
		return
	}
	_, isKey := r.index.fields[name]
	switch {
	case isKey:
		r.complain(line, name, "", "%s is a key, not a section", name)
	case !slices.Contains(r.index.sections, name):
		r.unknownSection(parts, line)
	case kind == unstable.ArrayTable:
		r.complain(line, name, "["+name+"]", "[[%s]] is a list of sections", name)
	default:
		r.open(name, line)
		r.skip = false
	}
}

// open notes that a section begins, as a header or as an inline table.
func (r *reader) open(name string, line int) {
	if first, again := r.seen["["+name+"]"]; again {
		r.complain(line, name, "", "duplicate section [%s], first on line %d", name, first)
		return
	}
	r.seen["["+name+"]"] = line
}

// assign gives a key its value; an inline table is a section written shorter.
func (r *reader) assign(parts []string, node *unstable.Node, line int) {
	name := dotted(parts)
	f, isKey := r.index.fields[name]
	isSection := slices.Contains(r.index.sections, name)
	switch {
	case isKey:
		r.set(f, node, line)
	case !isSection:
		r.unknownKey(parts, line)
	case node.Kind != unstable.InlineTable:
		r.complain(line, name, "", "%s is a section, not a key", name)
	default:
		r.open(name, line)
		for it := node.Children(); !r.full() && it.Next(); {
			more, line := r.key(it.Node())
			r.assign(slices.Concat(parts, more), it.Node().Value(), line)
		}
	}
}

func (r *reader) set(f field, node *unstable.Node, line int) {
	if first, again := r.seen[f.key]; again {
		r.complain(line, f.key, "", "duplicate key %s, first set on line %d", f.key, first)
		return
	}
	r.seen[f.key] = line
	value, complaints := f.read(valueOf(node))
	for _, c := range complaints {
		r.complain(r.itemLine(node, c.item, line), f.key, c.suggestion, "%s: %s", f.key, c.text)
	}
	r.layer.put(f.key, setting{value, fmt.Sprintf("%s:%d", r.file, line)})
}

// itemLine is the line of one item of a list, or that of the key.
func (r *reader) itemLine(node *unstable.Node, item, line int) int {
	if node.Kind != unstable.Array {
		return line
	}
	i := 0
	for it := node.Children(); it.Next(); i++ {
		if i == item && it.Node().Raw.Length > 0 {
			return r.lineAt(int(it.Node().Raw.Offset))
		}
	}
	return line
}

// checkWhole lets the TOML decoder find what the walk does not look for, such
// as a section that is also written as an inline table.
func (r *reader) checkWhole() {
	var all map[string]any
	var decode *toml.DecodeError
	if !errors.As(toml.Unmarshal(r.data, &all), &decode) {
		return
	}
	line, _ := decode.Position()
	r.complain(line, "", "", "%s", printable(strings.TrimPrefix(decode.Error(), "toml: ")))
}

// full reports that more problems would help nobody.
func (r *reader) full() bool { return len(r.problems) >= maxProblems }

// report orders the problems and says when they are not all.
func (r *reader) report() []Problem {
	full := r.full()
	if full {
		r.problems = r.problems[:maxProblems]
	}
	sortByLine(r.problems)
	if full {
		r.complain(0, "", "", "has many problems; the first %d are shown", maxProblems)
	}
	return r.problems
}

func (r *reader) complain(line int, key, suggestion, format string, args ...any) {
	r.problems = append(r.problems, Problem{
		File: r.file, Line: line, Key: clip(key), Message: fmt.Sprintf(format, args...), Suggestion: suggestion,
	})
}

func (r *reader) lineAt(offset int) int {
	before, _ := slices.BinarySearch(r.breaks, offset)
	return before + 1
}

func lineBreaks(data []byte) []int {
	var offsets []int
	for i, c := range data {
		if c == '\n' {
			offsets = append(offsets, i)
		}
	}
	return offsets
}

// printable drops what could play tricks with the terminal.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return -1
	}, s)
}
