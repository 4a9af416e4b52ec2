package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/bubblewrap"
	"github.com/agent-loop/ralph/internal/sandbox/container"
	"github.com/agent-loop/ralph/internal/sandbox/gvisor"
)

// contender is a column of the table: the host itself, or one way to be sandboxed.
type contender struct {
	name   string
	engine sandbox.Engine // nil: the host
	flags  []string       // how ralph exec is told to use it
	plain  []string       // how its own command runs a program in the same way
	box    sandbox.Sandbox
	errs   []string // why there are gaps
}

// contenders are the columns, each of which may turn out not to run here.
func (s *site) contenders() []*contender {
	return []*contender{
		{name: "host"},
		{
			name: bubblewrap.Name, engine: bubblewrap.New(s.state, s.ralph), flags: []string{"--engine", bubblewrap.Name},
			plain: []string{"bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--"},
		},
		{name: gvisor.Name, engine: gvisor.New(s.state, s.ralph), flags: []string{"--engine", gvisor.Name}},
		s.inContainer(container.Docker, "runc"),
		s.inContainer(container.Docker, "runsc"),
		s.inContainer(container.Podman, "runc"),
	}
}

func (s *site) inContainer(flavour container.Flavour, runtime string) *contender {
	c := &contender{name: string(flavour) + " " + runtime, flags: []string{"--engine", string(flavour), "--oci-runtime", runtime}}
	setUp := os.Getenv("RALPH_TEST_PODMAN") != ""
	args := []string{"podman", "--runtime", runtime, "run"}
	if flavour == container.Docker {
		setUp = os.Getenv("DOCKER_HOST") != "" && os.Getenv("DOCKER_HOST") == os.Getenv("RALPH_TEST_DOCKER_HOST")
		args = []string{"docker", "run", "--runtime", runtime}
	}
	if !setUp {
		c.errs = append(c.errs, "scripts/engines.sh has set none up")
		return c
	}
	c.engine = container.New(container.Options{Flavour: flavour, StateDir: s.state, Binary: s.ralph, Runtime: runtime})
	if image := os.Getenv("RALPH_TEST_IMAGE"); image != "" {
		c.plain = append(args, "--rm", "--network", "none", image)
	}
	return c
}

// open creates the contender's sandbox, in which most of the work is done.
func (s *site) open(c *contender) {
	if c.engine == nil {
		return
	}
	if err := s.tryOpen(c); err != nil {
		c.failed(err)
		c.engine, c.flags, c.plain = nil, nil, nil
	}
}

func (s *site) tryOpen(c *contender) error {
	if _, err := c.engine.Probe(s.ctx); err != nil {
		return err
	}
	spec, err := s.spec(s.work)
	if err != nil {
		return err
	}
	if c.box, err = c.engine.Create(s.ctx, spec); err != nil {
		return err
	}
	return s.do(c, s.work, "true")
}

func (c *contender) close() {
	if c.box != nil {
		_ = c.box.Close()
	}
}

// isHost tells the host from an engine that does not run.
func (c *contender) isHost() bool { return c.name == "host" }

// runs tells whether there is anything to measure.
func (c *contender) runs() bool { return c.isHost() || c.box != nil }

// failed notes why there is a gap, once.
func (c *contender) failed(err error) {
	words := strings.ReplaceAll(lastLine(err.Error()), "|", "/")
	for _, known := range c.errs {
		if known == words {
			return
		}
	}
	c.errs = append(c.errs, words)
}

// do runs a command in the contender's sandbox, or on the host.
func (s *site) do(c *contender, dir string, args ...string) error {
	if c.isHost() {
		return s.host(dir, args...)
	}
	if c.box == nil {
		return errors.New("it has no sandbox")
	}
	var out bytes.Buffer
	code, err := c.box.Exec(s.ctx, sandbox.Command{Args: args, Dir: dir, Stdout: &out, Stderr: &out})
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d: %s", code, lastLine(out.String()))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return nil
}
