//go:build linux

package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// labEngine is an engine as a user has it: a name, and what in the environment
// leads to it.
type labEngine struct {
	name, runtime string
	env           []string
}

// Where a test finds container engines, see scripts/engines.sh.
const (
	dockerVar = "RALPH_TEST_DOCKER_HOST"
	podmanVar = "RALPH_TEST_PODMAN"
)

// findEngine is an engine that runs here, or the end of the test.
func findEngine(t *testing.T, name string) labEngine {
	t.Helper()
	if testing.Short() {
		t.Skip("sandboxes are not for -short")
	}
	e := labEngine{name: name}
	switch name {
	case "docker":
		host := os.Getenv(dockerVar)
		if host == "" {
			sandboxtest.SkipEngine(t, errors.New(dockerVar+" names no docker to test"))
		}
		e.env = []string{"DOCKER_HOST=" + host}
		e.runtime = e.ask(t, "info", "--format", "{{.DefaultRuntime}}")
	case "podman":
		if os.Getenv(podmanVar) == "" {
			sandboxtest.SkipEngine(t, errors.New(podmanVar+" names no podman to test"))
		}
		for _, name := range []string{"CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF"} {
			e.env = append(e.env, name+"="+os.Getenv(name))
		}
		e.runtime = e.ask(t, "info", "--format", "{{.Host.OCIRuntime.Name}}")
	}
	return e
}

// ask is what the engine's own command says.
func (e labEngine) ask(t *testing.T, args ...string) string {
	t.Helper()
	out, err := e.command(args...)
	if err != nil {
		sandboxtest.SkipEngine(t, err)
	}
	return strings.TrimSpace(out)
}

// command runs the engine's own, as a user beside ralph would.
func (e labEngine) command(args ...string) (string, error) {
	cmd := exec.Command(e.name, args...)
	cmd.Env, cmd.Dir = append(os.Environ(), e.env...), "/"
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", e.name, strings.Join(args, " "), err, &stderr)
	}
	return string(out), err
}

// newEngineLab is a project whose runs are in an engine.
func newEngineLab(t *testing.T, engine, toml string) *engineLab {
	t.Helper()
	e := findEngine(t, engine)
	l := &engineLab{newProject(t, toml), e}
	l.env = append(l.env, "RALPH_SANDBOX_ENGINE="+engine)
	l.env = append(l.env, e.env...)
	const cannotRun = 5
	switch got := l.ralph("exec", "--", "true"); got.code {
	case 0:
	case cannotRun:
		sandboxtest.SkipEngine(t, errors.New(got.stderr))
	default:
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	prune := exec.Command(l.binary, "sandbox", "prune")
	prune.Env, prune.Dir = l.command().Env, l.project
	t.Cleanup(func() {
		if t.Failed() { // or there is nothing
			_ = prune.Run()
		}
	})
	return l
}

// engineLab is a lab that knows its engine.
type engineLab struct {
	*lab
	engine labEngine
}

// eachEngine runs a test in every engine that is named.
func eachEngine(t *testing.T, test func(t *testing.T, name string), names ...string) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) { test(t, name) })
	}
}

// check is lab.check for what an engine of its own could leave, too.
func (l *engineLab) check(iterations int) told {
	l.t.Helper()
	a := l.lab.check(iterations)
	l.gone()
	return a
}

// gone checks that nothing of the lab's is mounted anywhere, in whatever process,
// and that the engine has no container. A process of somebody else's that began
// meanwhile may have got a copy of the mounts, and is waited for.
func (l *engineLab) gone() {
	l.t.Helper()
	left := l.mounted()
	for deadline := time.Now().Add(10 * time.Second); len(left) > 0 && time.Now().Before(deadline); left = l.mounted() {
		time.Sleep(50 * time.Millisecond)
	}
	if len(left) > 0 {
		l.t.Errorf("left mounted in %d places, such as\n%s", len(left), left[0])
	}
	if left := l.containers(); len(left) > 0 {
		l.t.Errorf("left in %s: %v", l.engine.name, left)
	}
}

// mounted finds the lab's folder in the mounts of all processes. Those of a sandbox
// have them, and the rest of the machine if an engine forgot them there.
func (l *engineLab) mounted() (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/mountinfo")
	for _, file := range files {
		text, _ := os.ReadFile(file) // it may have ended
		for line := range bytes.Lines(text) {
			if bytes.Contains(line, []byte(filepath.Dir(l.home))) {
				found = append(found, file+": "+strings.TrimSpace(string(line)))
			}
		}
	}
	return found
}

// containers are those of this lab's ralph that the engine knows, running or not.
func (l *engineLab) containers() []string {
	l.t.Helper()
	if l.engine.runtime == "" {
		return nil
	}
	var mine []string
	for _, id := range strings.Fields(l.tell("ps", "--all", "--quiet", "--no-trunc", "--filter", "label=io.ralph.sandbox")) {
		if out, err := l.engine.command("inspect", id); err == nil && strings.Contains(out, filepath.Dir(l.home)) {
			mine = append(mine, id)
		}
	}
	return mine
}

// tell is what the engine's own command says, which must succeed.
func (l *engineLab) tell(args ...string) string {
	l.t.Helper()
	out, err := l.engine.command(args...)
	must(l.t, err)
	return out
}

// launches are the sandboxes that were started, as the record has them.
func launches(t *testing.T, a told) []rundir.Launch {
	t.Helper()
	return of[rundir.Launch](t, a, rundir.EventLaunch)
}

// mountTargets are the places of a launch's mounts.
func mountTargets(l rundir.Launch) (all []string) {
	for _, m := range l.Mounts {
		all = append(all, m.Target)
	}
	slices.Sort(all)
	return all
}
