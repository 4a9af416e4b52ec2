package gvisor

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/layout"
	"github.com/agent-loop/ralph/internal/sandbox/lifetime"
	"github.com/agent-loop/ralph/internal/sandbox/machine"
	"github.com/agent-loop/ralph/internal/sandbox/roster"
)

// Engine starts gVisor sandboxes. It keeps their state in one folder.
type Engine struct {
	roster *roster.Roster
	binary string
}

var _ sandbox.Engine = (*Engine)(nil)

// New returns an engine that keeps its state below stateDir. Sandboxes are
// started from binary, a ralph that calls Reexec first thing in main; empty
// means this very program.
func New(stateDir, binary string) *Engine {
	return &Engine{roster: roster.New(Name, filepath.Join(stateDir, Name)), binary: binary}
}

// Name is part of the sandbox.Engine interface.
func (*Engine) Name() string { return Name }

// Probe is part of the sandbox.Engine interface.
func (e *Engine) Probe(context.Context) (sandbox.Info, error) {
	binary, err := machine.Self(e.binary)
	if err == nil {
		err = machine.CheckStatic(Name, binary)
	}
	if err == nil {
		err = checkKernel(binary)
	}
	if err != nil {
		return sandbox.Info{}, err
	}
	return sandbox.Info{
		Engine:         Name,
		Version:        cmp.Or(Version(), "unknown"),
		Boundary:       "user-space kernel (gVisor, systrap)",
		Rootless:       os.Geteuid() != 0,
		Networks:       []sandbox.Network{sandbox.NetworkNone, sandbox.NetworkGate},
		Helper:         layout.Helper,
		Isolated:       true,
		ProtectedPaths: true,
		Rootfs:         true,
		Terminal:       true,
		LimitMemory:    true,
		LimitCPUs:      true,
		LimitProcesses: true,
		LimitDisk:      true,
		OwnFiles:       true,
		// Twice to three times as fast as mounts, but they count as memory and are
		// lost when ralph is killed: a user must want that.
		PrefersOwnFiles: false,
	}, nil
}

// Create is part of the sandbox.Engine interface.
func (e *Engine) Create(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if err := checkUser(spec.User); err != nil {
		return nil, err
	}
	e.roster.Sweep(nil) // the processes died with their ralph
	spec = spec.Cleaned()
	entry, err := e.roster.Add()
	if err != nil {
		return nil, err
	}
	b, err := e.create(ctx, entry, spec)
	if err != nil {
		return nil, errors.Join(err, entry.Remove())
	}
	return b, nil
}

func (e *Engine) create(ctx context.Context, entry *roster.Entry, spec sandbox.Spec) (*box, error) {
	if err := prepareFolder(entry); err != nil {
		return nil, err
	}
	b := &box{entry: entry, spec: spec, ids: newIdentity(spec.User)}
	b.Lifetime = lifetime.New(b.stop)
	var err error
	b.binary, err = machine.Self(e.binary)
	if err == nil {
		b.binary, err = machine.Readable(b.binary, entry.Dir)
	}
	if err == nil {
		err = writeBundle(bundleDir(entry.Dir), spec, b.ids, b.binary)
	}
	if err == nil {
		err = b.start(ctx)
	}
	return b, err
}

// prepareFolder makes room for gVisor's own state.
func prepareFolder(entry *roster.Entry) error {
	if _, err := entry.Folder(runscName); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		return machine.CheckReachable(Name, "state folder", entry.Dir)
	}
	return nil
}

// List is part of the sandbox.Engine interface.
func (e *Engine) List(context.Context) ([]sandbox.Status, error) { return e.roster.Statuses() }

// Remove is part of the sandbox.Engine interface.
func (e *Engine) Remove(ctx context.Context, id string) error {
	return e.roster.Remove(ctx, id, func(r roster.Record) error {
		var process processRecord
		if r.Decode(&process) != nil {
			return nil //nolint:nilerr // none was started yet
		}
		return killLauncher(process.Launcher, id)
	})
}
