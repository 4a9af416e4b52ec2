//go:build !linux

package bubblewrap

import (
	"context"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// Engine stands in for bubblewrap where it cannot run.
type Engine struct{}

// New returns an engine that explains itself.
func New(_, _ string) *Engine { return &Engine{} }

// Name is part of the sandbox.Engine interface.
func (*Engine) Name() string { return Name }

// Probe is part of the sandbox.Engine interface.
func (*Engine) Probe(context.Context) (sandbox.Info, error) {
	return sandbox.Info{}, &sandbox.UnavailableError{Engine: Name, Reason: "bubblewrap runs on Linux only", Fix: "use docker or podman"}
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
