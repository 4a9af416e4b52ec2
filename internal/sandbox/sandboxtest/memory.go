package sandboxtest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"sync"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// Memory is an engine without processes and without a boundary: an interpreter
// in this process runs the shell scripts, and a small set of programs written in
// Go stands in for a system. It shows a guest the files that a real engine
// would, but it is no defence against one. It is safe for concurrent use.
type Memory struct {
	mu        sync.Mutex
	next      int
	sandboxes []*memorySandbox // oldest first
	programs  map[string]ProgramFunc
	specs     []sandbox.Spec
	commands  []sandbox.Command
}

var _ sandbox.Engine = (*Memory)(nil)

// NewMemory returns an engine without sandboxes, with the built-in programs.
func NewMemory() *Memory {
	return &Memory{programs: builtinPrograms()}
}

// Program adds a program to every sandbox of the engine, or replaces one, under
// a name without a slash. A test of the loop scripts its agent this way.
func (m *Memory) Program(name string, fn ProgramFunc) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.programs[name] = fn
}

// Specs are those that sandboxes were asked for, in order, failures included.
func (m *Memory) Specs() []sandbox.Spec {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.specs)
}

// Commands are those that sandboxes were asked to run, in the order in which
// they arrived.
func (m *Memory) Commands() []sandbox.Command {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.commands)
}

// Dial connects to the gate of a sandbox, as a program inside it would.
func (m *Memory) Dial(ctx context.Context, id string) (net.Conn, error) {
	s := m.find(id)
	if s == nil {
		return nil, sandbox.ErrGone
	}
	return s.dial(ctx)
}

// Name is part of sandbox.Engine.
func (m *Memory) Name() string { return "memory" }

// Probe is part of sandbox.Engine.
func (m *Memory) Probe(context.Context) (sandbox.Info, error) {
	return sandbox.Info{
		Engine:         m.Name(),
		Version:        "1",
		Boundary:       "none: interpreted in process",
		Rootless:       true,
		Networks:       []sandbox.Network{sandbox.NetworkNone, sandbox.NetworkGate},
		ProtectedPaths: true,
		OwnFiles:       true,
	}, nil
}

// Create is part of sandbox.Engine.
func (m *Memory) Create(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	m.mu.Lock()
	m.next++
	id := fmt.Sprintf("memory-%d", m.next)
	m.specs = append(m.specs, spec)
	m.mu.Unlock()

	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("creating sandbox %s: %w", id, err)
	}
	s, err := newMemorySandbox(m, id, spec)
	if err != nil {
		return nil, fmt.Errorf("creating sandbox %s: %w", id, err)
	}
	m.mu.Lock()
	m.sandboxes = append(m.sandboxes, s)
	m.mu.Unlock()
	s.start()
	return s, nil
}

// List is part of sandbox.Engine.
func (m *Memory) List(context.Context) ([]sandbox.Status, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []sandbox.Status{}
	for _, s := range m.sandboxes {
		list = append(list, s.status())
	}
	return list, nil
}

// Remove is part of sandbox.Engine.
func (m *Memory) Remove(_ context.Context, id string) error {
	s := m.find(id)
	if s == nil {
		return nil
	}
	return s.Close()
}

func (m *Memory) find(id string) *memorySandbox {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sandboxes {
		if s.id == id {
			return s
		}
	}
	return nil
}

func (m *Memory) forget(s *memorySandbox) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sandboxes = slices.DeleteFunc(m.sandboxes, func(other *memorySandbox) bool { return other == s })
}

func (m *Memory) record(cmd sandbox.Command) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commands = append(m.commands, cmd)
}

func (m *Memory) program(name string) ProgramFunc {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.programs[name]
}

func (s *memorySandbox) status() sandbox.Status {
	return sandbox.Status{
		ID:          s.id,
		Engine:      s.engine.Name(),
		State:       sandbox.Running,
		Workspace:   s.spec.Workspace(),
		PID:         os.Getpid(),
		CreatedAt:   s.created,
		Labels:      maps.Clone(s.spec.Labels),
		Fingerprint: s.spec.Fingerprint(),
	}
}
