package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/workspace"
)

// maxDenials bounds what is remembered of refused connections: a guest can ask
// for any number of names.
const maxDenials = 100

// execGate is the gate of one "ralph exec", and the list of what it refused.
type execGate struct {
	proxy  *gate.Proxy
	models *modelAPI // nil: the command has none
	bound  *bindings
	log    *eventLog // nil: nobody asked for it

	mu     sync.Mutex
	denied []string
	more   bool // than are remembered
	events int
}

// openGate makes the gate that the flags and the configuration ask for, and
// tells the sandbox about it.
func openGate(ctx context.Context, w World, cfg config.Config, opts execOptions, spec *sandbox.Spec) (_ *execGate, err error) {
	g := &execGate{}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	policy, err := newPolicy(cfg.Sandbox.Network)
	if err != nil {
		return nil, err
	}
	if err := checkPlaces(w, cfg, opts, spec.Mounts); err != nil {
		return nil, err
	}
	if g.log, err = openEventLog(opts.events, spec.Mounts); err != nil {
		return nil, err
	}
	if g.bound, err = newBindings(w, cfg, policy, spec.Rootfs); err != nil {
		return nil, err
	}
	run := newRunID()
	c := gate.Config{Run: run, Policy: policy, Log: g.note, Credentials: g.bound.credentials, Phantoms: g.bound.placeholders}
	extra := g.bound.env
	if err := opts.tapes.check(spec.Mounts); err != nil {
		return nil, err
	}
	if opts.models {
		if g.models, err = newModelAPI(ctx, w, cfg, run, opts.tapes); err != nil {
			return nil, err
		}
		c.Origin = g.models.api
		c.Phantoms = append(c.Phantoms, g.models.phantom)
		extra = append(extra, g.models.env...)
	}
	// What the user says with --env still wins.
	spec.Env = sandbox.MergeEnv(extra, spec.Env)
	spec.Mounts = append(spec.Mounts, g.bound.mounts...)
	g.proxy = gate.New(c)
	spec.Gate = g.proxy.Serve
	return g, nil
}

// checkPlaces refuses secrets that the sandbox could read, and records in a
// folder where the agent of another run works.
func checkPlaces(w World, cfg config.Config, opts execOptions, mounts []sandbox.Mount) error {
	var from []string
	if opts.models {
		from = append(from, cfg.Agent.Credential)
	}
	for _, c := range cfg.Credentials {
		from = append(from, c.From)
	}
	if err := checkSecrets(w, from, mounts); err != nil {
		return err
	}
	state, err := w.stateDir()
	if err != nil {
		return err
	}
	for _, path := range []string{opts.events, opts.tapes.record} {
		if folder, err := realFolder(path); path != "" && err == nil {
			if err := workspace.CheckFree(state, folder); err != nil {
				return err
			}
		}
	}
	return nil
}

// newRunID names one command in the records.
func newRunID() string {
	var id [4]byte
	_, _ = rand.Read(id[:]) // does not fail
	return "exec-" + hex.EncodeToString(id[:])
}

func newPolicy(n config.Network) (*gate.Policy, error) {
	mode, err := gate.ParseMode(n.Policy)
	if err != nil {
		return nil, usageError{err, ""}
	}
	policy, err := gate.NewPolicy(mode, n.Allowed, n.Denied)
	if err != nil {
		return nil, usageError{err, "write hosts as example.com, *.example.com or example.com:8443, or a preset such as @npm"}
	}
	return policy, nil
}

func (g *execGate) note(e gate.Event) {
	g.log.write(e)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.events++
	if e.Allowed || e.Host == "" || e.Code != "" { // the model API speaks for itself
		return
	}
	name := fmt.Sprintf("%s:%d", e.Host, e.Port)
	switch {
	case slices.Contains(g.denied, name):
	case len(g.denied) < maxDenials:
		g.denied = append(g.denied, name)
	default:
		g.more = true
	}
}

// close ends what the gate has open. The sandbox is gone by then, and with it
// every connection.
func (g *execGate) close() error {
	err := errors.Join(g.log.close(), g.bound.close())
	if g.models != nil {
		err = errors.Join(err, g.models.close())
	}
	return err
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
	if g.models != nil {
		g.models.report(w)
	}
	if verbose {
		fmt.Fprintf(w, "ralph: %d connections came to the gate\n", g.events)
	}
}
