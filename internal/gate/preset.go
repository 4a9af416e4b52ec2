package gate

import (
	"maps"
	"slices"
	"strings"
)

// presets are the named groups of rules. A wildcard here stands for the domain
// itself as well, for some package indexes live there.
var presets = map[string][]string{
	"anthropic": {"api.anthropic.com"},
	"openai":    {"api.openai.com"},
	"github":    {"*.github.com", "*.githubusercontent.com"},
	"npm":       {"*.npmjs.org"},
	"pypi":      {"*.pypi.org", "*.pythonhosted.org"},
	"crates":    {"*.crates.io"},
	"go":        {"*.golang.org", "*.go.dev"},
	"debian":    {"*.debian.org"},
}

// Presets returns the names of the presets, sorted, without their @.
func Presets() []string { return slices.Sorted(maps.Keys(presets)) }

// presetRules returns the rules that a preset stands for.
func presetRules(name string) (rules []string, ok bool) {
	for _, rule := range presets[name] {
		rules = append(rules, rule)
		if domain, wild := strings.CutPrefix(rule, "*."); wild {
			rules = append(rules, domain)
		}
	}
	return rules, len(rules) > 0
}
