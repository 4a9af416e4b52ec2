package bubblewrap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/keeper"
	"github.com/agent-loop/ralph/internal/sandbox/layout"
	"github.com/agent-loop/ralph/internal/sandbox/machine"
	"github.com/agent-loop/ralph/internal/sandbox/roster"
)

// Engine starts sandboxes through bwrap. It keeps their state in one folder.
type Engine struct {
	roster *roster.Roster
	binary string
}

var _ sandbox.Engine = (*Engine)(nil)

// New returns an engine that keeps its state below stateDir. The keepers are
// started from binary, a ralph that calls keeper.Reexec first thing in main; empty
// means this very program.
func New(stateDir, binary string) *Engine {
	return &Engine{roster: roster.New(Name, filepath.Join(stateDir, Name)), binary: binary}
}

// Name is part of the sandbox.Engine interface.
func (*Engine) Name() string { return Name }

// Create is part of the sandbox.Engine interface.
func (e *Engine) Create(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	ids, err := newIdentity(spec.User)
	if err != nil {
		return nil, err
	}
	e.roster.Sweep(nil)
	spec = spec.Cleaned()
	entry, err := e.roster.Add()
	if err != nil {
		return nil, err
	}
	box, err := e.create(ctx, entry, spec, ids)
	if err != nil {
		return nil, errors.Join(err, entry.Remove())
	}
	return box, nil
}

func (e *Engine) create(ctx context.Context, entry *roster.Entry, spec sandbox.Spec, ids identity) (sandbox.Sandbox, error) {
	command, err := e.prepare(entry, spec, ids)
	if err != nil {
		return nil, err
	}
	v, conn, err := launch(entry, command)
	if err != nil {
		return nil, err
	}
	if err := entry.Write(entry.Status(spec), record{PID: v.bwrap.PID()}); err != nil {
		conn.Close()
		return nil, errors.Join(err, v.Kill())
	}
	box, err := keeper.Open(ctx, keeper.Start{ID: entry.ID, Spec: spec, Settings: settings(spec), Vessel: v, Conn: conn})
	if err != nil {
		return nil, err // not a *keeper.Box that is nil
	}
	return box, nil
}

// prepare lays the sandbox out on disk and returns how it is started.
func (e *Engine) prepare(entry *roster.Entry, spec sandbox.Spec, ids identity) (command, error) {
	self, err := machine.Self(e.binary)
	if err != nil {
		return command{}, err
	}
	if self, err = machine.Readable(self, entry.Dir); err != nil {
		return command{}, err
	}
	program, err := findProgram()
	if err != nil {
		return command{}, err
	}
	if ids.root {
		if err := machine.CheckReachable(Name, "state folder", entry.Dir); err != nil {
			return command{}, err
		}
	}
	root, err := entry.Folder("root")
	if err != nil {
		return command{}, err
	}
	mounts, err := layout.Build(root, spec, ids.inside, self)
	if err != nil {
		return command{}, err
	}
	var c command
	if ids.root {
		places, err := entry.Folder("mounts")
		if err != nil {
			return command{}, err
		}
		if c.views, mounts, err = newViews(places, spec, mounts); err != nil {
			return command{}, err
		}
	}
	proc, err := procArguments(entry)
	if err != nil {
		return command{}, err
	}
	c.args = append([]string{program}, arguments(root, ids, proc, mounts, tmpSize(spec))...)
	return c, nil
}

// settings are what the keeper is to hold: everything, since nobody else does.
func settings(spec sandbox.Spec) keeper.Settings {
	return keeper.Settings{
		Gate:        spec.Network == sandbox.NetworkGate,
		UnixSockets: keeper.UnixSockets(spec),
		Processes:   spec.Limits.Processes,
		FileSize:    spec.Limits.Disk,
		Memory:      spec.Limits.Memory,
		CPUs:        machine.ChooseCPUs(spec.Limits.CPUs),
	}
}

// List is part of the sandbox.Engine interface.
func (e *Engine) List(context.Context) ([]sandbox.Status, error) { return e.roster.Statuses() }

// Remove is part of the sandbox.Engine interface.
func (e *Engine) Remove(ctx context.Context, id string) error {
	return e.roster.Remove(ctx, id, killOther)
}

// identity says who the sandbox is, inside and on the host.
type identity struct {
	root   bool // ralph is root, and the sandbox is nobody
	inside sandbox.User
}

// defaultID is the agent's user inside when ralph runs as root.
const defaultID = 1000

func newIdentity(asked sandbox.User) (identity, error) {
	ids := identity{root: os.Geteuid() == 0, inside: asked}
	switch {
	case asked == (sandbox.User{}) && ids.root:
		ids.inside = sandbox.User{UID: defaultID, GID: defaultID}
	case asked == (sandbox.User{}):
		ids.inside = sandbox.User{UID: os.Geteuid(), GID: os.Getegid()}
	case asked.UID <= 0 || asked.GID <= 0:
		return ids, &sandbox.RefusedError{
			What: fmt.Sprintf("user %d:%d", asked.UID, asked.GID),
			Why:  "root and its group belong to the host",
			Fix:  "choose an ordinary user, or none",
		}
	}
	return ids, nil
}
