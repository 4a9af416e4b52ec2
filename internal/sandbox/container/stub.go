//go:build !linux

package container

import (
	"context"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// Engine stands in where containers are in a machine of their own, which cannot
// see this one's folders as they are.
type Engine struct{ name Flavour }

// New returns an engine that explains itself.
func New(options Options) *Engine { return &Engine{options.Flavour} }

// Name is part of the sandbox.Engine interface.
func (e *Engine) Name() string { return string(e.name) }

// Probe is part of the sandbox.Engine interface.
func (e *Engine) Probe(context.Context) (sandbox.Info, error) {
	return sandbox.Info{}, &sandbox.UnavailableError{Engine: e.Name(), Reason: "ralph drives it on Linux only", Fix: "use docker-sandbox, or run ralph on Linux"}
}

// Create is part of the sandbox.Engine interface.
func (e *Engine) Create(ctx context.Context, _ sandbox.Spec) (sandbox.Sandbox, error) {
	_, err := e.Probe(ctx)
	return nil, err
}

// List is part of the sandbox.Engine interface.
func (*Engine) List(context.Context) ([]sandbox.Status, error) { return nil, nil }

// Remove is part of the sandbox.Engine interface.
func (*Engine) Remove(context.Context, string) error { return nil }
