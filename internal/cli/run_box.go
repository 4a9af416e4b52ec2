package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox"
)

const (
	// agentFolder is where an agent's program is inside.
	agentFolder = "/opt/ralph-agent"
	// coverFolder is an empty folder in a run's folder, which is laid over what the
	// agent must not see.
	coverFolder = "nothing"

	// What a run of research sees.
	researchRun  = "/workspace/run"
	researchData = "/workspace/data"
)

// box is the sandbox of a run as it is asked for, each time.
type box struct {
	spec    sandbox.Spec
	own     int      // how many of the mounts are what it works on
	program []string // how the agent is started inside
	work    string   // the folder of the host that it works on
	ignore  []string // paths in it that are not its work
	secrets []string // files of the user's that go in with their real content
	inner   *inner   // around the agent; nil: nothing is
}

// newBox says what the agent of a run gets to see.
func (p *plan) newBox(run *rundir.Run, work *runGit) (*box, error) {
	b := &box{work: p.spec.Project, ignore: []string{".git", ".ralph"}}
	mounts, err := p.mounts(run, work)
	if err != nil {
		return nil, err
	}
	b.own = len(mounts)
	switch {
	case p.spec.Data != "":
		b.work, b.ignore = run.Path(), recordPaths()
	case p.inside():
		b.work = filepath.Join(run.Path(), filesFolder)
	case !p.inPlace():
		b.work = filepath.Join(work.clone().Tree, filepath.FromSlash(p.repo.Prefix))
	}
	program, argv, err := p.program()
	if err != nil {
		return nil, err
	}
	b.program = argv
	network := networkFor(p.config, p.models)
	b.spec = sandbox.Spec{
		Labels:  map[string]string{"run": run.ID()},
		Rootfs:  p.spec.Rootfs,
		Image:   p.image,
		Mounts:  append(mounts, program...),
		Env:     append(sandbox.BaseEnv(network), "RALPH_RUN="+run.ID()),
		Dir:     p.workDir(),
		Limits:  limits(p.config.Sandbox.Resources),
		Network: network,
	}
	if p.inside() {
		b.spec.Own = []string{p.repo.Top}
	}
	b.spec.Limits.Time = 0 // it is that of an iteration, and the sandbox may outlive one
	if err := p.checkBox(b.spec, run); err != nil {
		return nil, err
	}
	return b, p.addSecrets(b)
}

// addSecrets adds the files that the user lets in. A run of research sees exactly
// two places.
func (p *plan) addSecrets(b *box) error {
	if p.spec.Data != "" {
		if len(p.config.Sandbox.ReadOnlySecrets) > 0 {
			p.notes = append(p.notes, "a run of research sees its own folder and its data alone: sandbox.readonly_secrets is not used")
		}
		return nil
	}
	secrets, err := p.world.secretMounts(p.config, b.spec.Mounts)
	for _, m := range secrets {
		b.secrets = append(b.secrets, m.Source)
	}
	b.spec.Mounts = append(b.spec.Mounts, secrets...)
	p.notes = append(p.notes, secretWarnings(secrets)...)
	return err
}

// recordPaths are those of a run's folder that its agent may not write.
func recordPaths() []string {
	return []string{"checkpoints", "logs", "spec.json", "state.json", coverFolder}
}

// workDir is where the agent starts; empty: at the first mount.
func (p *plan) workDir() string {
	if p.inPlace() {
		return ""
	}
	return p.spec.Project
}

func (p *plan) mounts(run *rundir.Run, work *runGit) ([]sandbox.Mount, error) {
	if !p.inPlace() {
		return work.mounts(work.clone()), nil
	}
	if p.spec.Data != "" {
		return []sandbox.Mount{
			{Source: run.Path(), Target: researchRun, Exclusive: true},
			{Source: p.spec.Data, Target: researchData, ReadOnly: true},
		}, nil
	}
	mounts := []sandbox.Mount{{Source: p.spec.Project, Target: p.spec.Project}}
	cover := filepath.Join(run.Path(), coverFolder)
	if err := os.MkdirAll(cover, 0o755); err != nil {
		return nil, fmt.Errorf("making an empty folder: %w", err)
	}
	mounts = append(mounts, p.cover.mounts(cover)...)
	if work == nil {
		return mounts, nil
	}
	covered, err := work.coverGit()
	return append(mounts, covered...), err
}

// checkBox refuses a sandbox that would show more than the user can mean.
func (p *plan) checkBox(spec sandbox.Spec, run *rundir.Run) error {
	host, err := p.world.mountHost()
	if err != nil {
		return err
	}
	host.Run = run.Path()
	errs := []error{sandbox.CheckMounts(spec.Mounts, host), spec.CheckOwn(), host.CheckRootfs(spec.Rootfs), p.checkData()}
	return errors.Join(errs...)
}

// checkData refuses data that is another run, or holds one.
func (p *plan) checkData() error {
	if p.spec.Data == "" {
		return nil
	}
	held, err := p.world.knownRoots(p.spec.Data)
	if err != nil {
		return err
	}
	if len(held) == 0 && !sandbox.Overlap(p.spec.Data, p.root) {
		return nil
	}
	return &sandbox.RefusedError{
		What: fmt.Sprintf("data %q", p.spec.Data), Why: "it holds runs, and a run sees its own folder only",
		Fix: "copy the data that the run needs to a folder of its own",
	}
}

// program finds the agent's program on this machine, and says how it is started
// inside.
func (p *plan) program() ([]sandbox.Mount, []string, error) {
	switch {
	case p.who.Name == "mini":
		return nil, []string{p.info.Helper}, nil
	case p.who.Name == "command":
		return nil, p.config.Agent.Command, nil
	case p.spec.Rootfs != "", p.image != "":
		return nil, []string{p.who.Name}, nil
	}
	found, err := p.who.FindProgram(p.world.agentHost())
	var missing *agent.MissingError
	if errors.As(err, &missing) {
		return nil, nil, usageError{err, "install it: " + missing.Install + "; or use the built-in agent: --agent mini"}
	}
	if err != nil {
		return nil, nil, err
	}
	inside, argv := found.Inside(agentFolder)
	var mounts []sandbox.Mount
	for _, m := range inside {
		// Nobody listens on a socket among a program's files.
		mounts = append(mounts, sandbox.Mount{Source: m.Host, Target: m.Inside, ReadOnly: true, Exclusive: true})
	}
	return mounts, argv, nil
}

// agentHost is how this machine is looked over for an agent's program.
func (w World) agentHost() agent.Host {
	return agent.Host{Home: w.home(), LookPath: exec.LookPath, Resolve: filepath.EvalSymlinks, Head: fileHead}
}

// fileHead reads the first bytes of a file.
func fileHead(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	head := make([]byte, 256)
	n, err := file.Read(head)
	return head[:n], err
}

// launcher starts the sandboxes of a run.
type launcher struct {
	plan  *plan
	box   *box
	gates *runGates
	work  *runGit // what the agent works on; nil: nothing need be done for it

	network config.Network // what may be reached, for the record
	policy  *gate.Policy   // of a validation, which gets no models; nil: it is the agent's
}

// Launch is part of loop.Launcher.
func (l *launcher) Launch(ctx context.Context) (sandbox.Sandbox, rundir.Launch, error) {
	if l.work != nil && l.work.inside != nil {
		return l.launchInside(ctx)
	}
	return l.create(ctx)
}

// create makes a sandbox as it is asked for.
func (l *launcher) create(ctx context.Context) (sandbox.Sandbox, rundir.Launch, error) {
	spec := l.box.spec
	gate := l.gates.open(l.policy)
	spec.Gate = gate.Serve
	if l.work != nil {
		if err := l.work.mend(ctx); err != nil {
			return nil, rundir.Launch{}, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	created, err := l.plan.engine.Create(ctx, spec)
	if err != nil {
		return nil, rundir.Launch{}, boundaryError{err}
	}
	if l.policy == nil {
		if err := l.box.inner.check(ctx, created, l.plan.info); err != nil {
			return nil, rundir.Launch{}, errors.Join(err, created.Close())
		}
	}
	return &gatedSandbox{created, gate}, l.audit(created, spec), nil
}

// ownFiles stands in the record for where a folder is from that no host has.
const ownFiles = "(the sandbox's own)"

// audit is what the record says about a sandbox.
func (l *launcher) audit(created sandbox.Sandbox, spec sandbox.Spec) rundir.Launch {
	env := spec.Env
	audit := rundir.Launch{
		Sandbox: created.ID(), Image: spec.Image + spec.Rootfs, Secrets: l.box.secrets, Network: string(spec.Network),
		Policy: l.network.Policy, Allowed: l.network.Allowed, Denied: l.network.Denied,
		Memory: spec.Limits.Memory, CPUs: spec.Limits.CPUs, Processes: spec.Limits.Processes, Disk: spec.Limits.Disk,
	}
	if l.policy == nil {
		env = append(slices.Clone(env), l.gates.agentEnv()...)
		audit.Inner = l.box.inner.String()
	}
	audit.EnvNames = envNames(env)
	l.plan.chosen.record(&audit)
	for _, m := range spec.Mounts {
		audit.Mounts = append(audit.Mounts, rundir.Mount{Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly, Protect: len(m.Protect)})
	}
	for _, dir := range spec.Own {
		audit.Mounts = append(audit.Mounts, rundir.Mount{Source: ownFiles, Target: dir})
	}
	return audit
}
