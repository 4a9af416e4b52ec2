package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/plaintext"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// engineWish is what the user asks of an engine.
type engineWish struct {
	name    string // or auto
	runtime string // of OCI; empty: any
	prefer  string

	// spec is what a sandbox must be able to do, or nil.
	spec *sandbox.Spec
}

func newEngineWish(cfg config.Config, spec sandbox.Spec) engineWish {
	return engineWish{name: cfg.Sandbox.Engine, runtime: cfg.Sandbox.OCIRuntime, prefer: cfg.Sandbox.Prefer, spec: &spec}
}

// engineChoice is an engine that works here, and how it came to be chosen.
type engineChoice struct {
	engine sandbox.Engine
	info   sandbox.Info
	auto   bool     // nobody named it
	reason string   // why this one
	passed []string // others, each with why not
}

// chooseEngine returns the engine that the user named, or with "auto" the strongest
// or fastest that works here and can do what is asked. An engine is never swapped
// for another one silently: a named one that cannot run is an error.
func chooseEngine(ctx context.Context, list []sandbox.Engine, wish engineWish) (engineChoice, error) {
	if wish.name == config.EngineAuto {
		return autoEngine(ctx, list, wish)
	}
	return namedEngine(ctx, list, wish)
}

// namedEngine finds the engine that was asked for: as it is listed first, or with
// the runtime that was asked for.
func namedEngine(ctx context.Context, list []sandbox.Engine, wish engineWish) (engineChoice, error) {
	var failed error
	for _, e := range list {
		if e.Name() != wish.name {
			continue
		}
		info, err := probeEngine(ctx, e)
		switch {
		case err == nil && wish.wants(info):
			return engineChoice{engine: e, info: info, reason: "asked for"}, wish.check(info)
		case err == nil && failed == nil:
			failed = noRuntime(info, wish.runtime)
		case err != nil && (failed == nil || wish.runtime != "" && wish.wants(info)):
			failed = err
		}
		if wish.runtime == "" || ctx.Err() != nil {
			break
		}
	}
	if failed != nil {
		return engineChoice{}, failed
	}
	return engineChoice{}, usageError{
		fmt.Errorf("engine %q is not part of this ralph", wish.name),
		"use one of: " + strings.Join(engineNames(list), ", "),
	}
}

// wants tells whether an engine has the runtime that was asked for.
func (w engineWish) wants(info sandbox.Info) bool {
	return w.runtime == "" || info.Runtime == w.runtime
}

// noRuntime says that an engine does not start containers by the runtime asked for.
func noRuntime(info sandbox.Info, runtime string) error {
	e := &sandbox.UnavailableError{
		Engine: info.Engine, Reason: fmt.Sprintf("it has no OCI runtime %s", runtime),
		Fix: "install it and make it known to " + info.Engine,
	}
	if len(info.Runtimes) > 0 {
		e.Fix += ", or choose one that is: --oci-runtime " + strings.Join(info.Runtimes, "|")
	}
	return &runtimeError{e}
}

// runtimeError is the error of an engine without the runtime asked for.
type runtimeError struct{ *sandbox.UnavailableError }

func (e *runtimeError) Unwrap() error { return e.UnavailableError }

// probeEngine asks an engine what it can do. One that fails may still tell which
// runtime it is about. An interruption is not its fault.
func probeEngine(ctx context.Context, e sandbox.Engine) (sandbox.Info, error) {
	info, err := e.Probe(ctx)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return info, err
}

// autoEngine walks over the engines, the best first. One may turn out to be better
// or worse than its name says, by its runtime, so the walk ends when no other can
// still be better than the best that was found.
func autoEngine(ctx context.Context, list []sandbox.Engine, wish engineWish) (engineChoice, error) {
	best := engineChoice{auto: true, reason: wish.autoReason()}
	var failures []error
	told := map[string]bool{} // engines that have said why not
	for _, e := range wish.inOrder(list) {
		if best.engine != nil && wish.rank(best.engine.Name(), best.info.Runtime) <= wish.atBest(e.Name()) {
			break
		}
		info, err := probeEngine(ctx, e)
		if ctx.Err() != nil {
			return engineChoice{}, ctx.Err()
		}
		if err == nil {
			err = wish.suits(info)
		}
		switch {
		case err != nil && told[e.Name()] && (wish.runtime == "" || info.Runtime != wish.runtime):
			// Nobody asked for this runtime of an engine that is out already.
		case err != nil:
			told[e.Name()] = true
			best.passed = append(best.passed, whyNot(runtimeName(e.Name(), info.Runtime), err))
			if info.Runtime != "" || !errors.As(err, new(*runtimeError)) { // one that has no runtimes is not meant
				failures = append(failures, err)
			}
		case best.engine == nil || wish.rank(e.Name(), info.Runtime) < wish.rank(best.engine.Name(), best.info.Runtime):
			best.engine, best.info = e, info
		}
	}
	if best.engine == nil {
		return engineChoice{}, wish.noEngine(failures)
	}
	best.passed = slices.Compact(best.passed)
	return best, nil
}

func (w engineWish) autoReason() string {
	if w.prefer == config.PreferSpeed {
		return "the fastest that works here"
	}
	return "the strongest that works here"
}

// inOrder sorts engines, the one to try first in front.
func (w engineWish) inOrder(list []sandbox.Engine) []sandbox.Engine {
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b sandbox.Engine) int { return w.atBest(a.Name()) - w.atBest(b.Name()) })
	return order
}

// suits tells why auto cannot choose an engine that works.
func (w engineWish) suits(info sandbox.Info) error {
	switch {
	case !info.Isolated:
		return &sandbox.RefusedError{What: "engine " + info.Engine, Why: "it isolates nothing", Fix: "use another one"}
	case !w.wants(info):
		return noRuntime(info, w.runtime)
	}
	return w.check(info)
}

// check refuses an engine that cannot do what is asked.
func (w engineWish) check(info sandbox.Info) error {
	if w.spec == nil {
		return nil
	}
	if w.spec.Image != "" && !info.Image {
		return &sandbox.RefusedError{
			What: fmt.Sprintf("image %q", w.spec.Image), Why: fmt.Sprintf("the engine %s has no images", info.Engine),
			Fix: "unpack it and pass --rootfs DIR, or choose another engine with --engine",
		}
	}
	return info.Check(*w.spec)
}

// rank orders engines, the one to try first lowest: by the strength of the boundary,
// or the other way round.
func (w engineWish) rank(name, runtime string) int {
	rank := boundaryRank(name, runtime)
	if w.prefer == config.PreferSpeed {
		return -rank
	}
	return rank
}

// atBest is the rank that an engine can turn out to have.
func (w engineWish) atBest(name string) int {
	return min(w.rank(name, ""), w.rank(name, "runsc"))
}

// boundaryRank orders engines by what stands between guest and host, the strongest
// lowest. A runtime with a kernel of its own makes a container stronger.
func boundaryRank(name, runtime string) int {
	ownKernel := runtime == "runsc" || runtime == "kata"
	order := []string{"docker-sandbox", "gvisor", "docker+", "podman+", "docker", "podman", "bubblewrap"}
	if ownKernel && slices.Contains(order, name+"+") {
		name += "+"
	}
	if at := slices.Index(order, name); at >= 0 {
		return at
	}
	return len(order)
}

// noEngine is the error of auto that found nothing. What was refused comes first,
// because the user can ask for less.
func (w engineWish) noEngine(failures []error) error {
	if w.runtime != "" && !slices.ContainsFunc(failures, func(err error) bool { return !errors.As(err, new(*runtimeError)) }) {
		return boundaryError{hinted{fmt.Errorf("no engine here has the OCI runtime %s", w.runtime), "install it and make it known to docker or podman, or leave --oci-runtime out"}}
	}
	refused := func(err error) int {
		if errors.As(err, new(*sandbox.RefusedError)) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(failures, func(a, b error) int { return refused(a) - refused(b) })
	failures = slices.CompactFunc(failures, func(a, b error) bool { return a.Error() == b.Error() })
	if len(failures) == 0 {
		return errors.New("this ralph has no engine")
	}
	return errors.Join(failures...)
}

// whyNot says in one line why an engine was passed over.
func whyNot(name string, err error) string {
	const most = 200
	var unavailable *sandbox.UnavailableError
	var refused *sandbox.RefusedError
	why := err.Error()
	switch {
	case errors.As(err, &unavailable):
		why = unavailable.Reason
	case errors.As(err, &refused):
		why = refused.Why
	}
	return name + ": " + plaintext.Line(why, most)
}
