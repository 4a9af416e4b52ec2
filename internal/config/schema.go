package config

import (
	"slices"
	"strings"
)

// field is one key: everything that reading, joining and explaining it needs.
type field struct {
	key  string // dotted, as in "sandbox.network.policy"
	doc  string
	list bool

	// secret values are not written into records or notes: see Settings.
	secret bool

	read     func(any) (any, []complaint)
	fromText func(string) any   // nil for lists
	texts    func(any) []string // what readText reads back
	show     func(any) string
	load     func(*Config) any
	store    func(*Config, any)
	tighten  func(base any, said bool, project any) any
}

func at[T any](key, doc string, k kind[T], place func(*Config) *T, r rule[T]) field {
	return field{
		key: key, doc: doc, list: k.fromText == nil, fromText: k.fromText,
		read: func(v any) (any, []complaint) {
			value, complaints := k.read(v)
			return value, complaints
		},
		texts: func(v any) []string {
			if items, ok := v.([]string); ok {
				return append([]string{}, items...)
			}
			return []string{k.toText(v.(T))}
		},
		show:  func(v any) string { return k.show(v.(T)) },
		load:  func(c *Config) any { return *place(c) },
		store: func(c *Config, v any) { *place(c) = v.(T) },
		tighten: func(base any, said bool, project any) any {
			return r(base.(T), said, project.(T))
		},
	}
}

// secret marks a key whose value may hold a secret.
func secret(f field) field {
	f.secret = true
	return f
}

// readText reads a value as flags, variables and stored settings have it: one
// text, or the items of a list.
func (f field) readText(text []string) (any, []complaint) {
	if !f.list {
		return f.read(f.fromText(text[0]))
	}
	items := make([]any, len(text))
	for i, s := range text {
		items[i] = s
	}
	return f.read(items)
}

// problems are complaints about what a source says of the key.
func (f field) problems(origin string, complaints []complaint) []Problem {
	var all []Problem
	for _, c := range complaints {
		all = append(all, Problem{File: origin, Key: f.key, Message: c.text, Suggestion: c.suggestion})
	}
	return all
}

const (
	keyAllowed  = "sandbox.network.allowed"
	keyBranches = "git.protected_branches"
	keyBypass   = "execution.use_bypass_permissions"
	keyDenied   = "sandbox.network.denied"
	keyEnabled  = "sandbox.enabled"
	keyEngine   = "sandbox.engine"
	keyMode     = "execution.mode"
	keyPolicy   = "sandbox.network.policy"
	keyProtect  = "sandbox.protect"
	keyRuntime  = "sandbox.oci_runtime"
)

// schema lists every key, in the order of the documentation.
func schema() []field {
	return slices.Concat(agentKeys(), sandboxKeys(), networkKeys(), resourceKeys(), budgetKeys(),
		loopKeys(), validationKeys(), gitKeys(), runKeys(), notifyKeys())
}

// index finds keys by name, and knows which sections those names make up.
type index struct {
	fields   map[string]field
	keys     []string
	sections []string // "sandbox", "sandbox.network"
}

func newIndex() index {
	ix := index{fields: map[string]field{}}
	seen := map[string]bool{}
	for _, f := range schema() {
		ix.fields[f.key] = f
		ix.keys = append(ix.keys, f.key)
		section := f.key[:strings.LastIndex(f.key, ".")]
		if !seen[section] {
			seen[section] = true
			ix.sections = append(ix.sections, section)
		}
	}
	return ix
}

// environmentName is the variable that sets a key.
func environmentName(key string) string {
	return "RALPH_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}
