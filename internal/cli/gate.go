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
	"github.com/agent-loop/ralph/internal/secret"
	"github.com/agent-loop/ralph/internal/workspace"
)

// maxDenials bounds what is remembered of refused connections: a guest can ask
// for any number of names.
const maxDenials = 100

// gateWishes is what somebody wants of a gate.
type gateWishes struct {
	run     string // names it in records
	models  bool   // the agent's model API
	tapes   tapes
	ledger  string           // the file of the budget; empty: one that ends with the gate
	records []string         // other files that are written on behalf of the sandbox
	masker  *secret.Masker   // learns every secret that is used
	log     func(gate.Event) // is told every decision
}

// gateParts is what gates are made of: one for each sandbox of a run.
type gateParts struct {
	config gate.Config
	models *modelAPI // nil: there is none
	bound  *bindings
}

// newGateParts gathers what the configuration asks for, and tells the sandbox
// about it.
func newGateParts(ctx context.Context, w World, cfg config.Config, wish gateWishes, spec *sandbox.Spec) (_ *gateParts, err error) {
	g := &gateParts{}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	policy, err := newPolicy(cfg.Sandbox.Network)
	if err != nil {
		return nil, err
	}
	if err := checkPlaces(w, cfg, wish, spec.Mounts); err != nil {
		return nil, err
	}
	if g.bound, err = newBindings(w, cfg, policy, spec.Rootfs, wish.masker); err != nil {
		return nil, err
	}
	g.config = gate.Config{Run: wish.run, Policy: policy, Log: wish.log, Credentials: g.bound.credentials, Phantoms: g.bound.placeholders}
	if wish.models {
		if g.models, err = newModelAPI(ctx, w, cfg, wish); err != nil {
			return nil, err
		}
		g.config.Origin = g.models.api
		g.config.Phantoms = append(g.config.Phantoms, g.models.phantom)
	}
	// What the user says with --env still wins.
	spec.Env = sandbox.MergeEnv(g.bound.env, spec.Env)
	spec.Mounts = append(spec.Mounts, g.bound.mounts...)
	return g, nil
}

// close ends what the gates have open. The sandbox is gone by then, and with it
// every connection.
func (g *gateParts) close() error {
	err := g.bound.close()
	if g.models != nil {
		err = errors.Join(err, g.models.close())
	}
	return err
}

// checkPlaces refuses secrets that the sandbox could read, and records where it,
// or the agent of another run, could write.
func checkPlaces(w World, cfg config.Config, wish gateWishes, mounts []sandbox.Mount) error {
	if err := wish.tapes.check(mounts); err != nil {
		return err
	}
	var from []string
	if wish.models {
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
	for _, path := range append(wish.records, wish.tapes.record) {
		if folder, err := realFolder(path); path != "" && err == nil {
			if err := workspace.CheckFree(state, folder); err != nil {
				return err
			}
		}
	}
	return nil
}

// execGate is the gate of one "ralph exec", and the list of what it refused.
type execGate struct {
	*gateParts
	log *eventLog // nil: nobody asked for it

	mu     sync.Mutex
	denied []string
	more   bool // than are remembered
	events int
}

// openGate makes the gate that the flags and the configuration ask for, and
// tells the sandbox about it.
func openGate(ctx context.Context, w World, cfg config.Config, opts execOptions, spec *sandbox.Spec) (*execGate, error) {
	g := &execGate{}
	wish := gateWishes{
		run: newRunID(), models: opts.models, tapes: opts.tapes,
		records: []string{opts.events}, masker: secret.NewMasker(), log: g.note,
	}
	var err error
	if g.log, err = openEventLog(opts.events, spec.Mounts); err != nil {
		return nil, err
	}
	if g.gateParts, err = newGateParts(ctx, w, cfg, wish, spec); err != nil {
		return nil, errors.Join(err, g.log.close())
	}
	if g.models != nil {
		spec.Env = sandbox.MergeEnv(g.models.env, spec.Env)
	}
	spec.Gate = gate.New(g.config).Serve
	return g, nil
}

// close ends the gate, and tells what went wrong with the log.
func (g *execGate) close() error { return errors.Join(g.log.close(), g.gateParts.close()) }

// newRunID names one command in the records.
func newRunID() string {
	var id [4]byte
	_, _ = rand.Read(id[:]) // does not fail
	return "exec-" + hex.EncodeToString(id[:])
}

// networkFor is the way out that a sandbox gets. One that may reach nothing, and no
// model, has none.
func networkFor(cfg config.Config, models bool) sandbox.Network {
	if cfg.Sandbox.Network.Policy == config.PolicyDeny && !models {
		return sandbox.NetworkNone
	}
	return sandbox.NetworkGate
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
