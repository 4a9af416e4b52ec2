// Package agent holds what differs between the coding agents that ralph runs:
// whose models they speak to, how each is told where the gate is and which
// phantom to show it, how one unattended iteration is started, where its program
// is found, what its output means, and how an iteration ended.
//
// Everything that comes from an agent is hostile. Output of any size and shape
// becomes events; none of it is lost, none of it stops the reading, and what an
// agent says about itself yields to what the gate saw.
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
	Google    = "google"
)

// Agent is one of them.
type Agent struct {
	Name     string
	Provider string
	Token    string // the name under which its credential is stored
	Model    string // what it is pinned to if nobody says otherwise
	MaxTurns bool   // it can be told how many turns it may take

	env     func(Access) []string
	invoke  func(Task) (Command, error)
	decoder func() decode
	places  places
	judge   func(*Summary) Outcome
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
		{
			Name: "claude", Provider: Anthropic, Token: "claude", Model: "claude-sonnet-5", MaxTurns: true,
			env: claudeEnv, invoke: invokeClaude, decoder: decodeClaude, places: claudePlaces, judge: judgeClaude,
		},
		{
			Name: "codex", Provider: OpenAI, Token: "codex", Model: "gpt-6.1-sol",
			env: codexEnv, invoke: invokeCodex, decoder: decodeCodex, places: codexPlaces, judge: judgeByResult,
		},
		{
			Name: "opencode", Provider: Anthropic, Token: "claude", Model: "claude-sonnet-5",
			env: opencodeEnv, invoke: invokeOpencode, decoder: decodeOpencode, places: opencodePlaces, judge: judgeByResult,
		},
		{
			Name: "gemini", Provider: Google, Token: "gemini", Model: "gemini-2.5-pro", MaxTurns: true,
			env: geminiEnv, invoke: invokeGemini, decoder: decodeGemini, places: geminiPlaces, judge: judgeGemini,
		},
		{
			Name: "mini", Provider: Anthropic, Token: "claude", Model: "claude-sonnet-5", MaxTurns: true,
			env: claudeEnv, invoke: invokeMini, decoder: decodeMini, places: miniPlaces, judge: judgeMini,
		},
		{
			Name: "command", Provider: Anthropic, Token: "claude", Model: "claude-sonnet-5",
			env: claudeEnv, invoke: invokeCommand, decoder: decodeCommand, judge: judgeByText,
		},
	}
}

// Env is the environment that leads the agent to the gate and nowhere else. It
// is added to one that was built from nothing: a stray key would beat the
// phantom.
func (a Agent) Env(access Access) []string { return a.env(access) }
