package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/workspace"
)

// startTimeout bounds the creation of a sandbox, which takes a fraction of a
// second.
const startTimeout = time.Minute

// session is one sandbox from claim to clean-up.
type session struct {
	world   World
	spec    sandbox.Spec
	config  config.Config
	command string // tells others who has the folders
	folder  string // that of its run, whose parts are claimed with it
	verbose bool
}

// run claims the writable folders, creates the sandbox, does the work in it, and
// undoes the rest whatever happened.
func (s *session) run(ctx context.Context, work func(sandbox.Sandbox) error) (err error) {
	engines, stateDir, err := s.world.engines()
	if err != nil {
		return err
	}
	chosen, err := chooseEngine(ctx, engines, newEngineWish(s.config, s.wanted()))
	if err != nil {
		return err
	}
	chosen.tell(s.world, s.verbose)
	release, err := s.claim(ctx, stateDir)
	defer func() { err = errors.Join(err, release()) }()
	if err != nil {
		return err
	}
	if err := chosen.info.Check(s.spec); err != nil {
		return err
	}
	box, err := s.create(ctx, chosen.engine)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, box.Close()) }()
	s.say("sandbox %s", box.ID())
	return work(box)
}

// wanted is what the engine must be able to do. Which paths are protected is known
// once the folders are claimed; some always are.
func (s *session) wanted() sandbox.Spec {
	spec := s.spec
	spec.Mounts = slices.Clone(spec.Mounts)
	for i := range spec.Mounts {
		if m := &spec.Mounts[i]; !m.ReadOnly && len(m.Protect) == 0 {
			m.Protect = []string{config.ProjectFile}
		}
	}
	return spec
}

// claim takes every folder that the sandbox may write to, and completes the
// mounts with what is protected in it. The returned function gives back what
// was taken, also after an error.
func (s *session) claim(ctx context.Context, stateDir string) (release func() error, err error) {
	var claimed []*workspace.Workspace
	release = func() error {
		var errs []error
		for _, w := range claimed {
			errs = append(errs, w.Release())
		}
		return errors.Join(errs...)
	}
	if _, err := s.world.makeStateDir(); err != nil {
		return release, err
	}
	for _, m := range s.spec.Mounts {
		if err := workspace.CheckFree(stateDir, m.Source); err != nil {
			return release, err
		}
	}
	for i := range s.spec.Mounts {
		m := &s.spec.Mounts[i]
		if info, err := os.Stat(m.Source); m.ReadOnly || err != nil || !info.IsDir() || s.owns(m.Source) {
			continue
		}
		w, err := workspace.Claim(ctx, stateDir, m.Source, s.command, s.config.Sandbox.Protect)
		if err != nil {
			return release, err
		}
		claimed = append(claimed, w)
		if w.Linked > 0 {
			fmt.Fprintf(s.world.Err, "ralph: note: %d files in %s are linked from elsewhere; what is written to them shows there, too\n", w.Linked, w.Dir)
		}
		m.Protect = w.Protect
	}
	return release, nil
}

// owns tells whether a folder is a part of the session's own run.
func (s *session) owns(dir string) bool {
	return s.folder != "" && dir != s.folder && sandbox.Within(dir, s.folder)
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
