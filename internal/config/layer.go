package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Layer is what one source says: a file, the environment or the command line.
// The zero value and a nil Layer say nothing.
type Layer struct {
	settings    map[string]setting
	credentials []Credential
	prices      []Price
}

// setting is a checked value, of the type that its key has in Config.
type setting struct {
	value  any
	origin string // "ralph.toml:12", "--memory", "RALPH_AGENT_NAME"
}

func (l *Layer) get(key string) (setting, bool) {
	if l == nil {
		return setting{}, false
	}
	s, ok := l.settings[key]
	return s, ok
}

// has reports whether any of the layers sets the key.
func has(key string, layers ...*Layer) bool {
	for _, l := range layers {
		if _, ok := l.get(key); ok {
			return true
		}
	}
	return false
}

// strings is the value of a list key.
func (l *Layer) strings(key string) []string {
	s, _ := l.get(key)
	list, _ := s.value.([]string)
	return list
}

func (l *Layer) put(key string, s setting) {
	if l.settings == nil {
		l.settings = map[string]setting{}
	}
	l.settings[key] = s
}

// Set gives a key, named as in "sandbox.network.policy", the value of a flag.
// origin is the flag as the user typed it, for messages. A list key takes all
// of text, every other key exactly one. Setting a key again replaces it, but two
// flags that give a key two values contradict each other. That and a bad value are
// an *Error.
func (l *Layer) Set(origin, key string, text ...string) error {
	f, ok := newIndex().fields[key]
	if !ok {
		return fmt.Errorf("setting %s: there is no configuration key %q", origin, key)
	}
	if !f.list && len(text) != 1 {
		return fmt.Errorf("setting %s: it takes one value, not %d", origin, len(text))
	}
	before, again := l.says(key)
	problems := l.setText(f, origin, text)
	now, _ := l.says(key)
	if again && before.origin != now.origin && !slices.Equal(f.texts(before.value), f.texts(now.value)) {
		problems = append(problems, now.contradicts(before, "one of the two is enough"))
	}
	if len(problems) > 0 {
		return &Error{Problems: problems}
	}
	return nil
}

// Has reports whether a key is set.
func (l *Layer) Has(key string) bool { return has(key, l) }

func (l *Layer) setText(f field, origin string, text []string) []Problem {
	value, complaints := f.readText(text)
	problems := f.problems(origin, complaints)
	if len(problems) == 0 {
		l.put(f.key, setting{value, origin})
	}
	return problems
}

// FromEnv reads the RALPH_ variables. An empty variable says nothing. A list is
// written with commas, or as a TOML array when an item holds one itself.
func FromEnv(getenv func(string) string) (*Layer, error) {
	l := &Layer{}
	var problems []Problem
	for _, f := range schema() {
		problems = append(problems, l.setVariable(f, getenv)...)
	}
	if len(problems) > 0 {
		return nil, &Error{Problems: problems}
	}
	return l, nil
}

// setVariable takes a key's value from its variable, if that says anything.
func (l *Layer) setVariable(f field, getenv func(string) string) []Problem {
	name := environmentName(f.key)
	value := getenv(name)
	if value == "" {
		return nil
	}
	text := []string{value}
	if f.list {
		items, err := splitList(value)
		if err != nil {
			return []Problem{{File: name, Key: f.key, Message: err.Error()}}
		}
		text = items
	}
	return l.setText(f, name, text)
}

func splitList(value string) ([]string, error) {
	if !strings.HasPrefix(strings.TrimSpace(value), "[") {
		items := strings.Split(value, ",")
		for i := range items {
			items[i] = strings.TrimSpace(items[i])
		}
		return items, nil
	}
	var array struct{ V []string }
	if err := toml.NewDecoder(strings.NewReader("V = " + value)).DisallowUnknownFields().Decode(&array); err != nil {
		return nil, errors.New("is not a TOML array of strings")
	}
	return array.V, nil
}
