// Package agent holds what differs between the coding agents that ralph runs:
// whose models they speak to, and how each is told where the gate is and which
// phantom to show it.
package agent

import (
	"fmt"
	"slices"
	"strings"
)

// The providers whose API an agent speaks.
const (
	Anthropic = "anthropic"
	OpenAI    = "openai"
)

// Agent is one of them.
type Agent struct {
	Name     string
	Provider string
	Token    string // the name under which its credential is stored
	env      func(Access) []string
}

// Access is an agent's way to its models.
type Access struct {
	BaseURL string // of the provider's API on the gate
	Phantom string // what it holds instead of a credential
	Kind    Kind   // what the phantom stands for
}

// Kind is what a credential is, as far as agents treat kinds differently.
type Kind string

// The kinds.
const (
	APIKey Kind = "api-key"
	OAuth  Kind = "oauth"  // of a subscription
	Bearer Kind = "bearer" // of a gateway
)

// Find returns the agent of a name.
func Find(name string) (Agent, error) {
	for _, a := range all() {
		if a.Name == name {
			return a, nil
		}
	}
	return Agent{}, fmt.Errorf("no agent %q: there are %s", name, strings.Join(Names(), ", "))
}

// Names lists the agents.
func Names() []string {
	var names []string
	for _, a := range all() {
		names = append(names, a.Name)
	}
	slices.Sort(names)
	return names
}

func all() []Agent {
	return []Agent{
		{Name: "claude", Provider: Anthropic, Token: "claude", env: claudeEnv},
		{Name: "codex", Provider: OpenAI, Token: "codex", env: codexEnv},
	}
}

// Env is the environment that leads the agent to the gate and nowhere else. It
// is added to one that was built from nothing: a stray key would beat the
// phantom.
func (a Agent) Env(access Access) []string { return a.env(access) }

// claudeEnv switches off everything that Claude Code asks of other hosts, for it
// shows its credential to some of them, and its refusal to work as root, which
// in a sandbox is nobody.
func claudeEnv(a Access) []string {
	variable := map[Kind]string{
		APIKey: "ANTHROPIC_API_KEY",
		Bearer: "ANTHROPIC_AUTH_TOKEN",
		OAuth:  "CLAUDE_CODE_OAUTH_TOKEN",
	}[a.Kind]
	return []string{
		"ANTHROPIC_BASE_URL=" + a.BaseURL,
		variable + "=" + a.Phantom,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1",
		"DISABLE_ERROR_REPORTING=1",
		"DISABLE_TELEMETRY=1",
		"IS_SANDBOX=1",
	}
}

// codexEnv gives the key under the name that codex reads. It takes no address
// from the environment: OPENAI_BASE_URL is for its command line, as in
// -c openai_base_url="$OPENAI_BASE_URL", and for other clients.
func codexEnv(a Access) []string {
	return []string{"CODEX_API_KEY=" + a.Phantom, "OPENAI_API_KEY=" + a.Phantom, "OPENAI_BASE_URL=" + a.BaseURL}
}
