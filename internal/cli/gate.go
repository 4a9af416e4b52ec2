package cli

import (
	"fmt"
	"io"
	"net"
	"slices"
	"sync"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/gate"
)

// maxDenials bounds what is remembered of refused connections: a guest can ask
// for any number of names.
const maxDenials = 100

// execGate is the gate of one "ralph exec", and the list of what it refused.
type execGate struct {
	proxy *gate.Proxy

	mu     sync.Mutex
	denied []string
	more   bool // than are remembered
	events int
}

func newGate(n config.Network) (*execGate, error) {
	mode, err := gate.ParseMode(n.Policy)
	if err != nil {
		return nil, usageError{err, ""}
	}
	policy, err := gate.NewPolicy(mode, n.Allowed, nil)
	if err != nil {
		return nil, usageError{err, "write hosts as example.com, *.example.com or example.com:8443, or a preset such as @npm"}
	}
	g := &execGate{}
	g.proxy = gate.New(gate.Config{Policy: policy, Log: g.note})
	return g, nil
}

func (g *execGate) serve(l net.Listener) error { return g.proxy.Serve(l) }

func (g *execGate) note(e gate.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.events++
	name := fmt.Sprintf("%s:%d", e.Host, e.Port)
	switch {
	case e.Allowed, slices.Contains(g.denied, name):
	case len(g.denied) < maxDenials:
		g.denied = append(g.denied, name)
	default:
		g.more = true
	}
}

// report tells what was refused: a command that fails for want of a host rarely
// says so itself. The names come from inside the sandbox, so they are quoted.
func (g *execGate) report(w io.Writer, verbose bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, name := range g.denied {
		fmt.Fprintf(w, "ralph: refused a connection to %q\n", name)
	}
	if g.more {
		fmt.Fprintln(w, "ralph: refused connections to more hosts than are listed")
	}
	if len(g.denied) > 0 {
		fmt.Fprintln(w, "ralph: hint: let a host through with --allow HOST")
	}
	if verbose {
		fmt.Fprintf(w, "ralph: %d connections came to the gate\n", g.events)
	}
}
