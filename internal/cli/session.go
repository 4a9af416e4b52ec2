package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/workspace"
)

// session is one sandbox from claim to clean-up.
type session struct {
	world   World
	spec    sandbox.Spec
	config  config.Config
	verbose bool
}

// run claims the workspace, creates the sandbox, does the work in it, and undoes
// the rest whatever happened.
func (s *session) run(ctx context.Context, dir string, work func(sandbox.Sandbox) error) (err error) {
	engine, info, err := chooseEngine(ctx, s.world.Engines(s.world.stateDir()), s.config.Sandbox.Engine)
	if err != nil {
		return err
	}
	// Others may pass through, not look: as root, a sandbox's processes are
	// nobody, and must reach their own folder in it.
	if err := os.MkdirAll(s.world.stateDir(), 0o711); err != nil {
		return fmt.Errorf("creating the state folder: %w", err)
	}
	claimed, err := workspace.Claim(s.world.stateDir(), dir, "ralph exec", s.config.Sandbox.Protect)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, claimed.Release()) }()
	s.spec.Mounts[0].Protect = claimed.Protect
	if err := info.Check(s.spec); err != nil {
		return err
	}
	s.say("engine %s %s: %s", info.Engine, info.Version, info.Boundary)
	box, err := s.create(ctx, engine)
	if err != nil {
		return err
	}
	s.say("sandbox %s", box.ID())
	defer func() { err = errors.Join(err, box.Close()) }()
	return work(box)
}

func (s *session) create(ctx context.Context, engine sandbox.Engine) (sandbox.Sandbox, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	box, err := engine.Create(ctx, s.spec)
	if err != nil {
		return nil, boundaryError{err}
	}
	return box, nil
}

func (s *session) say(format string, args ...any) {
	if s.verbose {
		fmt.Fprintf(s.world.Err, "ralph: "+format+"\n", args...)
	}
}
