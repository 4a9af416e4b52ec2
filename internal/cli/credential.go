package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/secret"
	"github.com/agent-loop/ralph/internal/token"
)

// maskingSource makes every credential that is used known to the masker before
// anything about it can be written.
type maskingSource struct {
	token.Source
	masker *secret.Masker
}

func (s maskingSource) Token(ctx context.Context) (token.Credential, error) {
	c, err := s.Source.Token(ctx)
	s.masker.Add(c.Secret)
	return c, err
}

func (s maskingSource) Rejected(ctx context.Context, old token.Credential) (token.Credential, error) {
	c, err := s.Source.Rejected(ctx, old)
	s.masker.Add(c.Secret)
	return c, err
}

// kindSource knows better than its source what the credential is.
type kindSource struct {
	token.Source
	kind token.Kind
}

func (s kindSource) Token(ctx context.Context) (token.Credential, error) {
	c, err := s.Source.Token(ctx)
	c.Kind = s.kind
	return c, err
}

func (s kindSource) Rejected(ctx context.Context, old token.Credential) (token.Credential, error) {
	c, err := s.Source.Rejected(ctx, old)
	c.Kind = s.kind
	return c, err
}

// agentKind is what a phantom stands for, as far as agents care.
func agentKind(k token.Kind) agent.Kind {
	switch k {
	case token.SetupToken, token.ClaudeLogin:
		return agent.OAuth
	case token.Bearer:
		return agent.Bearer
	}
	return agent.APIKey
}

// tokenStore is where the user's credentials are kept.
func (w World) tokenStore() (*token.Store, error) {
	state, err := w.stateDir()
	if err != nil {
		return nil, err
	}
	store, err := token.OpenStore(filepath.Join(state, "tokens"), w.Getenv)
	if err != nil {
		return nil, usageError{err, ""}
	}
	return store, nil
}

// checkSecrets refuses a secret in a file that the sandbox will see.
func checkSecrets(w World, from []string, mounts []sandbox.Mount) error {
	for _, place := range from {
		path, ok := strings.CutPrefix(place, token.FromFile+":")
		if !ok {
			continue
		}
		file, err := filepath.EvalSymlinks(token.ExpandHome(path, w.home()))
		if err != nil {
			continue // what is missing is told when it is asked for
		}
		for _, m := range mounts {
			if holds(m.Source, file) {
				return usageError{fmt.Errorf("the secret of %s lies in %s, which the command can read", place, m.Source), "move the file, or store the secret with ralph store-token"}
			}
		}
	}
	return nil
}

// credentialSource reads where a secret is: env:NAME, file:PATH, command:ARGV or
// store:NAME; nothing is the store, under the given name.
func credentialSource(w World, from, name string) (token.Source, error) {
	store, err := w.tokenStore()
	if err != nil {
		return nil, err
	}
	spec := token.Spec{From: token.FromStore, Name: name}
	if kind, rest, ok := strings.Cut(from, ":"); ok {
		spec = token.Spec{From: kind}
		switch kind {
		case token.FromFile:
			spec.Path = rest
		case token.FromCommand:
			spec.Command = strings.Fields(rest)
		default:
			spec.Name = rest
		}
	}
	return token.From(spec, token.Host{Getenv: w.Getenv, Home: w.home(), Store: store})
}
