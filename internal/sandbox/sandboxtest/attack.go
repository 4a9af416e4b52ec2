package sandboxtest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/probe"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// AttackOptions adapt the attack suite to an engine. The zero value suits an
// engine that runs its sandboxes as processes of this machine.
type AttackOptions struct {
	// Folder makes a new, empty folder on the host that the engine can mount
	// from. The default is a temporary one.
	Folder func(t *testing.T) string

	// Leftovers lists what is alive on the host of the sandbox with that id. It
	// is asked after the sandbox has ended. The default is the processes whose
	// arguments name the id.
	Leftovers func(t *testing.T, id string) []string
}

// Attack lets every probe loose in sandboxes of the engine, on a host that holds
// what an attacker would want, and fails for each that gets anything. The
// engine must be able to run here, and Info.Helper inside must be a program that
// answers "probe NAME" with probe.Main: the test binary itself, when its TestMain
// does.
//
// A probe's own word is not enough: after each one the host is looked at too.
func Attack(t *testing.T, e sandbox.Engine, opts AttackOptions) {
	info, err := e.Probe(t.Context())
	if err != nil {
		t.Fatalf("probing: %v", err)
	}
	if !info.Isolated {
		t.Skipf("engine %s isolates nothing, and says so", info.Engine)
	}
	opts = opts.withDefaults()
	host := newAttackHost(t, opts.Folder(t))
	a := &attack{engine: e, info: info, opts: opts, host: host}
	t.Run("boundary", a.boundary)
	t.Run("resources", a.resources)
}

func (o AttackOptions) withDefaults() AttackOptions {
	if o.Folder == nil {
		o.Folder = attackFolder
	}
	if o.Leftovers == nil {
		o.Leftovers = attackLeftovers
	}
	return o
}

// attack is an engine under attack.
type attack struct {
	engine sandbox.Engine
	info   sandbox.Info
	opts   AttackOptions
	host   *attackHost
}

// attackStart bounds the start of a sandbox, attackProbe a single probe.
const (
	attackStart = time.Minute
	attackProbe = 90 * time.Second
)

// boundary runs every probe but those that use up a sandbox, one after the
// other in the same one.
func (a *attack) boundary(t *testing.T) {
	ws := a.host.newWorkspace(t, "this")
	gate := &attackGate{}
	spec := a.spec(ws, gate)
	spec.Limits = a.limits(sandbox.Limits{Memory: 2 << 30, Processes: 500})
	sb := a.create(t, spec)
	facts := a.facts(ws, spec)
	before := a.host.watch(ws)
	for _, p := range probe.All() {
		if p.Kind == probe.Resources {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Logf("%s: %s", p.Kind, p.Tries)
			asked := gate.count()
			outcome := a.run(t.Context(), sb, p.Name, facts, attackProbe)
			for _, problem := range slices.Concat(outcome.problems(), a.host.problems(ws, before, outcome)) {
				t.Error(problem)
			}
			if p.Name == "gate-to-host" && facts.Gate != "" && gate.count() == asked {
				t.Error("the gate was never asked: there is no door, and this proved nothing")
			}
			outcome.log(t)
			ws.tidy(t)
		})
	}
}

// spec is a sandbox on a workspace, with the strictest network that has a door.
func (a *attack) spec(ws *attackWorkspace, gate *attackGate) sandbox.Spec {
	spec := sandbox.Spec{
		Mounts: []sandbox.Mount{
			{Source: ws.dir, Target: ws.dir, Protect: attackProtected()},
			{Source: a.host.data, Target: a.host.data, ReadOnly: true},
		},
		Network: sandbox.NetworkNone,
	}
	if slices.Contains(a.info.Networks, sandbox.NetworkGate) {
		spec.Network, spec.Gate = sandbox.NetworkGate, gate.serve
	}
	spec.Env = sandbox.BaseEnv(spec.Network)
	return spec
}

// limits keeps what the engine says it can keep.
func (a *attack) limits(l sandbox.Limits) sandbox.Limits {
	if !a.info.LimitMemory {
		l.Memory = 0
	}
	if !a.info.LimitProcesses {
		l.Processes = 0
	}
	if !a.info.LimitDisk {
		l.Disk = 0
	}
	return l
}

// facts tells the probes of a sandbox what there is to get.
func (a *attack) facts(ws *attackWorkspace, spec sandbox.Spec) probe.Facts {
	facts := a.host.facts
	facts.Workspace = ws.dir
	facts.HostUnixSocket = ws.socket
	facts.Protected = spec.Mounts[0].Protect
	facts.MaxMemory, facts.MaxProcesses, facts.MaxDisk = spec.Limits.Memory, spec.Limits.Processes, spec.Limits.Disk
	if spec.Network == sandbox.NetworkGate {
		facts.Gate = sandbox.GateAddress
	}
	return facts
}

func (a *attack) create(t *testing.T, spec sandbox.Spec) sandbox.Sandbox {
	t.Helper()
	if err := a.info.Check(spec); err != nil {
		t.Fatalf("the attack suite needs more than the engine can do: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), attackStart)
	defer cancel()
	sb, err := a.engine.Create(ctx, spec)
	if err != nil {
		t.Fatalf("creating a sandbox: %v", err)
	}
	t.Cleanup(func() {
		if err := sb.Close(); err != nil {
			t.Errorf("closing the sandbox: %v", err)
		}
		for _, left := range a.left(t, sb.ID()) {
			t.Errorf("left behind on the host: %s", left)
		}
	})
	return sb
}

// left gives what has been killed a moment to be gone.
func (a *attack) left(t *testing.T, id string) []string {
	t.Helper()
	var list []string
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if list = a.opts.Leftovers(t, id); len(list) == 0 {
			return nil
		}
	}
	return list
}
