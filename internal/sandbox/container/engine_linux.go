package container

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"sync"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/machine"
	"github.com/agent-loop/ralph/internal/sandbox/roster"
)

// Engine starts containers by an engine's command. It keeps their state in one
// folder.
type Engine struct {
	options Options
	roster  *roster.Roster
	state   string // names the folder to the engine, without telling where it is

	mu    sync.Mutex
	known *client // the engine, once it was found
}

var _ sandbox.Engine = (*Engine)(nil)

// New returns an engine.
func New(options Options) *Engine {
	dir := filepath.Join(options.StateDir, string(options.Flavour))
	sum := sha256.Sum256([]byte(dir))
	return &Engine{options: options, roster: roster.New(string(options.Flavour), dir), state: hex.EncodeToString(sum[:8])}
}

// Name is part of the sandbox.Engine interface.
func (e *Engine) Name() string { return string(e.options.Flavour) }

// Probe is part of the sandbox.Engine interface.
func (e *Engine) Probe(ctx context.Context) (sandbox.Info, error) {
	self, err := machine.Self(e.options.Binary)
	if err == nil {
		err = machine.CheckStatic(e.Name(), self)
	}
	if err != nil {
		return sandbox.Info{}, err
	}
	c, err := e.find(ctx)
	if err != nil {
		return sandbox.Info{}, err
	}
	return c.flavour.describe(c.facts), nil
}

// find asks the engine anew what it is.
func (e *Engine) find(ctx context.Context) (client, error) {
	c, err := e.connect(ctx)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.known = nil
	if err == nil {
		e.known = &c
	}
	return c, err
}

// client is the engine as it was found last.
func (e *Engine) client(ctx context.Context) (client, error) {
	e.mu.Lock()
	known := e.known
	e.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	return e.find(ctx)
}

// Create is part of the sandbox.Engine interface.
func (e *Engine) Create(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	c, err := e.client(ctx)
	if err != nil {
		return nil, err
	}
	ids, err := newIdentity(c, spec.User)
	if err != nil {
		return nil, err
	}
	e.sweep(ctx, c)
	spec = spec.Cleaned()
	entry, err := e.roster.Add()
	if err != nil {
		return nil, err
	}
	box, err := e.create(ctx, c, entry, spec, ids)
	if err != nil {
		return nil, errors.Join(err, discard(entry))
	}
	return box, nil
}

// List is part of the sandbox.Engine interface.
func (e *Engine) List(context.Context) ([]sandbox.Status, error) { return e.roster.Statuses() }

// Remove is part of the sandbox.Engine interface.
func (e *Engine) Remove(ctx context.Context, id string) error {
	if _, err := e.roster.Get(id); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	c, err := e.client(ctx)
	if err != nil {
		return err
	}
	return e.roster.Remove(ctx, id, func(r roster.Record) error { return e.clear(ctx, c, r.ID) })
}
