package config

import (
	"fmt"
	"slices"
)

// Where the agent works is said by three keys: sandbox.engine, sandbox.enabled and
// execution.mode. A source that says host with one and sandbox with another is
// refused, see Sources.contradictions. Among sources the strongest that says
// anything decides, with whichever of the keys: --sandbox is enough over a file
// with engine = "host", and --no-sandbox over one with engine = "docker".

// statement is what one source says of one key.
type statement struct {
	key string
	setting
}

// String shows a statement without its source.
func (s statement) String() string {
	return s.key + " = " + newIndex().fields[s.key].show(s.value)
}

// contradicts is the problem of two statements that cannot both hold.
func (s statement) contradicts(other statement, why string) Problem {
	return Problem{File: s.origin, Key: s.key, Message: fmt.Sprintf("%v contradicts %v (%s): %s", s, other, other.origin, why)}
}

// says returns what the source says of a key.
func (l *Layer) says(key string) (statement, bool) {
	s, ok := l.get(key)
	return statement{key, s}, ok
}

// place is what a source says about where the agent works.
func (l *Layer) place() (onHost, sandboxed []statement) {
	for _, key := range []string{keyEngine, keyEnabled, keyMode} {
		s, ok := l.says(key)
		switch {
		case !ok:
		case s.value == EngineHost, s.value == ModeHost, s.value == false:
			onHost = append(onHost, s)
		default:
			sandboxed = append(sandboxed, s)
		}
	}
	return onHost, sandboxed
}

// settlePlace makes the three keys say the same. A project alone cannot lead to the
// host; that it wants a sandbox counts over the user's file. Of a source that says
// both, the sandbox counts.
func (r *resolver) settlePlace() {
	onHost := false
	for _, l := range []*Layer{r.Flags, r.Env, r.Project, r.User} {
		host, sandboxed := l.place()
		if l == r.Project {
			host = nil
		}
		if len(host)+len(sandboxed) > 0 {
			onHost = len(sandboxed) == 0
			break
		}
	}
	sandbox := &r.cfg.Sandbox
	switch {
	case onHost:
		sandbox.Enabled, sandbox.Engine, r.cfg.Execution.Mode = false, EngineHost, ModeHost
	case sandbox.Engine == EngineHost:
		sandbox.Engine = EngineAuto
		fallthrough
	default:
		sandbox.Enabled, r.cfg.Execution.Mode = true, ModeContainer
	}
}

// settleRuntime drops a runtime that the engine has no use for. Where that would
// ignore what a person asked for, contradictions has refused it.
func (r *resolver) settleRuntime() {
	sandbox := &r.cfg.Sandbox
	if sandbox.OCIRuntime == "" || hasRuntimes(sandbox.Engine) {
		return
	}
	r.note("%s = %q is not used: the engine %s has no such runtimes", keyRuntime, sandbox.OCIRuntime, sandbox.Engine)
	sandbox.OCIRuntime = ""
}

// hasRuntimes tells whether an engine starts containers by an OCI runtime, or may
// turn out to be one that does.
func hasRuntimes(engine string) bool {
	return slices.Contains([]string{EngineAuto, "docker", "podman"}, engine)
}

// contradictions are what the sources cannot both mean. A stronger source may
// contradict a weaker one, which then does not count.
func (s Sources) contradictions() []Problem {
	var all []Problem
	for _, l := range []*Layer{s.Flags, s.Env, s.Project, s.User} {
		if host, sandboxed := l.place(); len(host) > 0 && len(sandboxed) > 0 {
			all = append(all, host[0].contradicts(sandboxed[0], "the one leads to the host, the other to a sandbox"))
		}
	}
	all = append(all, s.runtimeContradictions()...)
	return append(all, s.flagContradictions()...)
}

// runtimeContradictions are runtimes for engines that have none, by the same source,
// or asked for by a person over an engine that any source names.
func (s Sources) runtimeContradictions() []Problem {
	const why = "docker and podman alone have such runtimes"
	var all []Problem
	cfg, _ := Resolve(s)
	for _, l := range []*Layer{s.Flags, s.Env, s.Project, s.User} {
		runtime, ok := l.says(keyRuntime)
		if !ok || runtime.value == "" {
			continue
		}
		if host, _ := l.place(); len(host) > 0 {
			all = append(all, runtime.contradicts(host[0], why))
			continue
		}
		engine, ok := l.says(keyEngine)
		if !ok && (l == s.Flags || l == s.Env) {
			engine, ok = s.engine(cfg.Sandbox.Engine)
		}
		if ok && !hasRuntimes(engine.value.(string)) {
			all = append(all, runtime.contradicts(engine, why))
		}
	}
	return all
}

// engine finds who chose the engine that holds.
func (s Sources) engine(name string) (statement, bool) {
	for _, l := range []*Layer{s.Flags, s.Env, s.Project, s.User} {
		if said, ok := l.says(keyEngine); ok && said.value == name {
			return said, true
		}
	}
	return statement{}, false
}

// flagContradictions are about the network. In files a list may stand beside a
// policy that does not use it: there, the policy counts.
func (s Sources) flagContradictions() []Problem {
	policy, ok := s.Flags.says(keyPolicy)
	if !ok {
		return nil
	}
	var all []Problem
	if allowed, ok := s.Flags.says(keyAllowed); ok && policy.value == PolicyDeny {
		all = append(all, policy.contradicts(allowed, "the one closes the network, the other opens it"))
	}
	if host, _ := s.Flags.place(); len(host) > 0 {
		all = append(all, policy.contradicts(host[0], "on the host nothing keeps a network policy"))
	}
	return all
}
