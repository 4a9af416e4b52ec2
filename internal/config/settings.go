package config

import (
	"maps"
	"reflect"
	"slices"

	"github.com/agent-loop/ralph/internal/suggest"
)

// maxStored bounds a stored list. It is longer than a list that anyone wrote may
// be, because the lists of several sources were joined.
const maxStored = 10 * maxListItems

// Settings is every key with its value as text that Layer.Set takes, so that a
// run can keep what it was started with: the items of a list, one text for
// anything else. No text at all stands for what nobody has said where that has
// no text (a limit of [sandbox.resources], a model), and for values that may
// hold secrets (notify.command and notify.webhook): a run's record lies where
// an agent can read it. FromSettings reads it back.
func (c Config) Settings() map[string][]string {
	all := map[string][]string{}
	defaults := Defaults()
	for _, f := range schema() {
		value := f.load(&c)
		unsaid := reflect.DeepEqual(value, f.load(&defaults)) && f.unsayable(value)
		if all[f.key] = f.texts(value); f.secret || unsaid {
			all[f.key] = []string{}
		}
	}
	return all
}

// unsayable reports whether no text gives the key this value.
func (f field) unsayable(value any) bool {
	_, complaints := f.readText(f.texts(value))
	return len(complaints) > 0
}

// FromSettings reads what Settings wrote. A key that is missing says nothing,
// for it may be younger than the run. All unknown keys and bad values are in one
// *Error.
func FromSettings(settings map[string][]string) (*Layer, error) {
	l := &Layer{}
	ix := newIndex()
	var problems []Problem
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		f, ok := ix.fields[key]
		if !ok {
			problems = append(problems, Problem{
				File: storedOrigin(key), Key: clip(key), Message: "there is no such key", Suggestion: suggest.Nearest(key, ix.keys),
			})
			continue
		}
		problems = append(problems, l.setStored(f, settings[key])...)
	}
	if len(problems) > maxProblems {
		problems = problems[:maxProblems]
	}
	if len(problems) > 0 {
		return nil, &Error{Problems: problems}
	}
	return l, nil
}

func storedOrigin(key string) string { return "stored setting " + quote(key) }

// setStored gives a key its stored value, if there is one.
func (l *Layer) setStored(f field, text []string) []Problem {
	value, complaints := f.readStored(text)
	problems := f.problems(storedOrigin(f.key), complaints)
	if len(problems) == 0 && value != nil {
		l.put(f.key, setting{value, storedOrigin(f.key)})
	}
	return problems
}

// readStored returns nil where Settings had nothing to write.
func (f field) readStored(text []string) (any, []complaint) {
	switch {
	case f.secret && len(text) == 0:
		return nil, nil
	case f.list:
		return f.readLong(text)
	case len(text) == 1:
		return f.readText(text)
	}
	defaults := Defaults()
	if len(text) == 0 && f.unsayable(f.load(&defaults)) {
		return nil, nil
	}
	return nil, wrong("it takes one value, not %d", len(text))
}

// readLong reads a list that may be longer than one in a file.
func (f field) readLong(text []string) (any, []complaint) {
	if len(text) > maxStored {
		return nil, wrong("has %d items: the most is %d", len(text), maxStored)
	}
	var all []string
	for part := range slices.Chunk(text, maxListItems) {
		items, complaints := f.readText(part)
		if len(complaints) > 0 {
			return nil, complaints
		}
		all = append(all, items.([]string)...)
	}
	return all, nil
}
