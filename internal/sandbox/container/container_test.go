//go:build linux

package container_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/container"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// The engines that are there to be tested, and an image that both know. Docker's
// is a socket; Podman is found by CONTAINERS_CONF and CONTAINERS_STORAGE_CONF, or by
// the user's own configuration. See scripts/engines.sh.
const (
	dockerVar   = "RALPH_TEST_DOCKER_HOST"
	podmanVar   = "RALPH_TEST_PODMAN"
	runtimesVar = "RALPH_TEST_DOCKER_RUNTIMES"
	testImage   = "ralph-test-base:latest"
)

var binaries sandboxtest.Binaries

func TestMain(m *testing.M) { os.Exit(sandboxtest.Main(m, &binaries)) }

// testEngine is an engine, and what it was made from.
type testEngine struct {
	*container.Engine
	options container.Options
}

// engineOptions are those of an engine that is there to be tested, with its state
// in a folder.
func engineOptions(flavour container.Flavour, state string) (container.Options, error) {
	o := container.Options{Flavour: flavour, StateDir: state, Binary: binaries.Ralph, Env: os.Environ()}
	switch flavour {
	case container.Docker:
		host := os.Getenv(dockerVar)
		if host == "" {
			return o, fmt.Errorf("%s names no docker to test", dockerVar)
		}
		o.Env = append(o.Env, "DOCKER_HOST="+host)
	case container.Podman:
		if os.Getenv(podmanVar) == "" {
			return o, fmt.Errorf("%s names no podman to test", podmanVar)
		}
	}
	return o, nil
}

// newEngine returns an engine with a state folder of its own. A machine that
// cannot run it skips the test, unless that is forbidden.
func newEngine(t testing.TB, flavour container.Flavour, change ...func(*container.Options)) testEngine {
	t.Helper()
	if testing.Short() {
		t.Skip("sandboxes are not for -short")
	}
	o, err := engineOptions(flavour, sandboxtest.StateDir(t))
	if err != nil {
		sandboxtest.SkipEngine(t, err)
	}
	for _, c := range change {
		c(&o)
	}
	return testEngine{sandboxtest.Usable(t, container.New(o)), o}
}

// command runs the engine's command, as a user beside ralph would.
func (e testEngine) command(args ...string) (string, error) {
	cmd := exec.Command(string(e.options.Flavour), append(e.options.Args, args...)...)
	cmd.Env, cmd.Dir = e.options.Env, "/"
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", e.options.Flavour, strings.Join(args, " "), err, &stderr)
	}
	return strings.TrimSpace(stdout.String()), nil
}

func (e testEngine) must(t testing.TB, args ...string) string {
	t.Helper()
	out, err := e.command(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// containersOf are the engine's names of a sandbox's containers.
func (e testEngine) containersOf(t *testing.T, id string) []string {
	t.Helper()
	return strings.Fields(e.must(t, "ps", "--all", "--quiet", "--filter", "label=io.ralph.sandbox="+id))
}

// each runs a test for every engine that is there.
func each(t *testing.T, test func(t *testing.T, e testEngine)) {
	for _, flavour := range []container.Flavour{container.Docker, container.Podman} {
		t.Run(string(flavour), func(t *testing.T) { test(t, newEngine(t, flavour)) })
	}
}

// eachRuntime is each, and docker once more with gVisor as its runtime. An ordinary
// user has that already behind him.
func eachRuntime(t *testing.T, test func(t *testing.T, e testEngine)) {
	each(t, test)
	if os.Geteuid() != 0 {
		return
	}
	t.Run("docker-runsc", func(t *testing.T) {
		if !slices.Contains(strings.Fields(os.Getenv(runtimesVar)), "runsc") {
			sandboxtest.SkipEngine(t, errors.New(runtimesVar+" does not name runsc"))
		}
		test(t, newEngine(t, container.Docker, func(o *container.Options) { o.Runtime = "runsc" }))
	})
}

func TestConformance(t *testing.T) {
	eachRuntime(t, func(t *testing.T, e testEngine) { sandboxtest.Conformance(t, e, sandboxtest.Options{}) })
}

func TestAttack(t *testing.T) {
	eachRuntime(t, func(t *testing.T, e testEngine) {
		sandboxtest.Attack(t, e, sandboxtest.AttackOptions{Leftovers: e.containersOf})
	})
}

func TestMachine(t *testing.T) {
	each(t, func(t *testing.T, e testEngine) {
		sandboxtest.Machine(t, binaries, func(state string) sandbox.Engine {
			o := e.options
			o.StateDir = state
			return container.New(o)
		})
	})
}
