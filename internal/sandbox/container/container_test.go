//go:build linux

package container_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/container"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// The engines that are there to be tested, and an image that both know. Docker's
// is a socket; Podman's are the arguments that lead it to a store of its own.
const (
	dockerVar  = "RALPH_TEST_DOCKER_HOST"
	podmanVar  = "RALPH_TEST_PODMAN"
	runtimeVar = "RALPH_TEST_OCI_RUNTIME" // tests Docker once more with this one
	testImage  = "ralph-test-base:latest"
)

// What TestMain builds: ralph itself, and a program for the guest.
var ralphBinary, guestBinary string

// prebuiltVar hands both to a test that is run again as another user, who may
// have no Go.
const prebuiltVar = "RALPH_TEST_BINARIES"

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if prebuilt := os.Getenv(prebuiltVar); prebuilt != "" {
		ralphBinary, guestBinary, _ = strings.Cut(prebuilt, ":")
		return m.Run()
	}
	for pkg, path := range map[string]*string{
		"github.com/agent-loop/ralph": &ralphBinary,
		"./testdata/guest":            &guestBinary,
	} {
		built, remove, err := sandboxtest.Build(pkg)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer remove()
		*path = built
	}
	return m.Run()
}

// testEngine is an engine, and the same engine's command for what tests do behind
// its back.
type testEngine struct {
	*container.Engine
	options container.Options
}

// engineOptions are those of an engine that is there to be tested.
func engineOptions(flavour container.Flavour) (container.Options, error) {
	o := container.Options{Flavour: flavour, Binary: ralphBinary, Env: os.Environ()}
	switch flavour {
	case container.Docker:
		host := os.Getenv(dockerVar)
		if host == "" {
			return o, fmt.Errorf("%s names no docker to test", dockerVar)
		}
		o.Env = append(o.Env, "DOCKER_HOST="+host)
	case container.Podman:
		args, there := os.LookupEnv(podmanVar)
		if !there {
			return o, fmt.Errorf("%s has no arguments of a podman to test", podmanVar)
		}
		o.Args = strings.Fields(args)
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
	o, err := engineOptions(flavour)
	if err != nil {
		sandboxtest.SkipEngine(t, err)
	}
	o.StateDir = t.TempDir()
	if err := os.Chmod(filepath.Dir(o.StateDir), 0o711); err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(&o)
	}
	e := container.New(o)
	if _, err := e.Probe(context.Background()); err != nil {
		sandboxtest.SkipEngine(t, err)
	}
	return testEngine{e, o}
}

// command runs the engine's command, as a user beside ralph would.
func (e testEngine) command(t testing.TB, args ...string) (string, error) {
	t.Helper()
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
	out, err := e.command(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// containersOf are the engine's names of a sandbox's containers.
func (e testEngine) containersOf(t testing.TB, id string) []string {
	t.Helper()
	return strings.Fields(e.must(t, "ps", "--all", "--quiet", "--filter", "label=io.ralph.sandbox="+id))
}

// each runs a test for every engine that is there.
func each(t *testing.T, test func(t *testing.T, e testEngine)) {
	for _, flavour := range []container.Flavour{container.Docker, container.Podman} {
		t.Run(string(flavour), func(t *testing.T) { test(t, newEngine(t, flavour)) })
	}
}

// newSpec is a plain sandbox on an empty workspace.
func newSpec(t testing.TB) sandbox.Spec {
	t.Helper()
	dir := t.TempDir()
	return sandbox.Spec{
		Mounts:  []sandbox.Mount{{Source: dir, Target: dir}},
		Env:     sandbox.BaseEnv(sandbox.NetworkNone),
		Network: sandbox.NetworkNone,
	}
}

func create(t testing.TB, e sandbox.Engine, spec sandbox.Spec) sandbox.Sandbox {
	t.Helper()
	sb, err := e.Create(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sb.Close(); err != nil {
			t.Error(err)
		}
	})
	return sb
}

// output runs a command that must succeed and returns what it printed.
func output(t testing.TB, sb sandbox.Sandbox, args ...string) string {
	t.Helper()
	out, err := try(t, sb, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func try(t testing.TB, sb sandbox.Sandbox, args ...string) (string, error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code, err := sb.Exec(t.Context(), sandbox.Command{Args: args, Stdout: &stdout, Stderr: &stderr})
	if err == nil && code != 0 {
		err = errors.New("it failed")
	}
	if err != nil {
		return "", fmt.Errorf("%s: exit code %d: %w\n%s", strings.Join(args, " "), code, err, &stderr)
	}
	return stdout.String(), nil
}

func TestConformance(t *testing.T) {
	each(t, func(t *testing.T, e testEngine) {
		sandboxtest.Conformance(t, e, sandboxtest.Options{Loopback: func(t *testing.T, _ sandbox.Sandbox, _ sandbox.Info) {
			checkLoopback(t, e)
		}})
	})
}

// checkLoopback runs a server and its client inside, as test suites do.
func checkLoopback(t *testing.T, e testEngine) {
	spec := newSpec(t)
	spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: guestBinary, Target: "/mnt/guest", ReadOnly: true})
	if got := output(t, create(t, e, spec), "/mnt/guest", "loopback"); got != "hello\n" {
		t.Errorf("got %q", got)
	}
}

func TestAttack(t *testing.T) {
	each(t, func(t *testing.T, e testEngine) {
		sandboxtest.Attack(t, e, sandboxtest.AttackOptions{Leftovers: e.containersOfTest})
	})
}

// containersOfTest is containersOf as the suite wants it.
func (e testEngine) containersOfTest(t *testing.T, id string) []string {
	t.Helper()
	return e.containersOf(t, id)
}
