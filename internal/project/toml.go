package project

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ConfigText is a ralph.toml for the project. The files in protect become
// read-only for the agent.
func (p Project) ConfigText(agent string, protect []string) string {
	var b strings.Builder
	b.WriteString("# How ralph runs coding agents in this project. Every key is checked: a mistake\n# here is told with its line before anything runs.\n")
	fmt.Fprintf(&b, "\n[agent]\nname = %s\n", quote(agent))
	if agent == "command" {
		b.WriteString("command = [\"sh\", \"./agent.sh\"] # yours; the prompt is on its standard input\n")
	}
	fmt.Fprintf(&b, "\n[sandbox]\nprotect = %s # read-only for the agent, besides ralph's own list\n", quoteList(protect))
	fmt.Fprintf(&b, "\n[sandbox.network]\npolicy = \"allowlist\"\nallowed = %s # the model's API needs no entry\n", quoteList(p.Allow()))
	b.WriteString("\n[budget] # for a whole run\nmax_cost_usd = 10.0\nmax_iterations = 20\nmax_time = \"8h\"\n")
	b.WriteString("\n[validation] # must pass before work counts as done\n")
	if command := p.Validation(); command != "" {
		fmt.Fprintf(&b, "command = %s\n", quote(command))
	} else {
		b.WriteString("# command = \"make test\"\n")
	}
	if trusted := p.Trusted(); len(trusted) > 0 {
		fmt.Fprintf(&b, "# An agent can change these checks, too: %s\n# Name each file that it must not change in [sandbox] protect.\n", strings.Join(trusted, ", "))
	}
	return b.String()
}

// quote writes a TOML string. TOML knows every escape that JSON's writer uses.
func quote(s string) string {
	quoted, _ := jsontext.AppendQuote(nil, s) // the error is broken UTF-8, which it replaces
	return string(quoted)
}

func quoteList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
