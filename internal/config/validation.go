package config

import (
	"slices"
	"strings"
	"time"
	"unicode"
)

// Validation says how finished work is checked.
type Validation struct {
	Setup   string // prepares a clean checkout for the command; empty: nothing to prepare
	Command string
	Trusted []string // patterns of files taken from the base commit
	Timeout time.Duration
	Network Reach
}

// Reach is what validations may reach of what the run may reach. See
// Config.ValidationNetwork, which makes the rules of both.
type Reach struct {
	Policy  string   // PolicySame, PolicyDeny or PolicyAllowlist
	Allowed []string // for PolicyAllowlist
}

// PolicySame leaves validations the run's own rules.
const PolicySame = "same"

// validationKeys are the keys of [validation] and [validation.network]. A
// project's checks are the project's own: the user bounds what they take and
// what they reach.
func validationKeys() []field {
	return []field{
		at("validation.setup", "prepares a clean checkout before the validation", text(anyText),
			func(c *Config) *string { return &c.Validation.Setup }, free),
		at("validation.command", "must pass before work counts as done", text(anyText),
			func(c *Config) *string { return &c.Validation.Command }, free),
		at("validation.trusted", "patterns of check files that are taken from the base commit", list(aFilePattern),
			func(c *Config) *[]string { return &c.Validation.Trusted }, free),
		at("validation.timeout", "of the command", duration(),
			func(c *Config) *time.Duration { return &c.Validation.Timeout }, atMost),

		at("validation.network.policy", "what a validation may reach of what the run may", oneOf(PolicySame, PolicyDeny, PolicyAllowlist),
			func(c *Config) *string { return &c.Validation.Network.Policy }, notWider(PolicyDeny, PolicyAllowlist, PolicySame)),
		at("validation.network.allowed", "the rules that stay for the policy \"allowlist\"", list(aHostRule),
			func(c *Config) *[]string { return &c.Validation.Network.Allowed }, within),
	}
}

// ValidationNetwork is what validations may reach: never more than the run may,
// and what the run denies stays denied. The lists are the caller's.
//
// Of [validation.network] those names count that the run's list holds, written
// the same way. Under the run's policy "allow-all" all names on the internet do,
// for that is what it opens; under "deny" none do. What is no policy denies.
func (c *Config) ValidationNetwork() Network {
	run := c.Sandbox.Network
	denied := slices.Clone(run.Denied)
	switch c.Validation.Network.Policy {
	case PolicySame:
		return Network{Policy: run.Policy, Allowed: slices.Clone(run.Allowed), Denied: denied}
	case PolicyAllowlist:
		return Network{Policy: PolicyAllowlist, Allowed: run.reachable(c.Validation.Network.Allowed), Denied: denied}
	}
	return Network{Policy: PolicyDeny, Denied: denied}
}

// reachable is the part of the rules that opens nothing new.
func (n Network) reachable(rules []string) []string {
	var open []string
	for _, rule := range rules {
		all, listed := n.Policy == PolicyAllowAll, contains(n.Allowed, rule)
		if (all && (listed || isPublicName(rule))) || (n.Policy == PolicyAllowlist && listed) {
			open = append(open, rule)
		}
	}
	return unique(open)
}

// within keeps of a project's rules those that the user's own list holds.
func within(base []string, said bool, project []string) []string {
	if !said {
		return project
	}
	kept, _ := split(project, base)
	return kept
}

// aFilePattern takes a git pattern of files below the workspace, such as
// "**/*_test.go". One that can match none would trust nothing, without a word.
func aFilePattern(s string) string {
	switch why := anyText(s); {
	case why != "":
		return why
	case strings.HasPrefix(s, "/"):
		return "is absolute; patterns are relative to the workspace"
	case slices.Contains(strings.Split(s, "/"), ".."):
		return "holds .. and may lead out of the workspace"
	case strings.HasPrefix(s, "!") || strings.HasPrefix(s, ":"):
		return "begins with ! or :, which mean nothing here"
	case strings.ContainsFunc(s, unicode.IsControl):
		return "holds a control character"
	}
	return ""
}
