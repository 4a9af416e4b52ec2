//go:build linux

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/cli"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// wall is an in-memory engine that says of itself what a test wants.
type wall struct {
	*sandboxtest.Memory
	info sandbox.Info
	down error // why it cannot run
}

func (e *wall) Name() string { return e.info.Engine }

func (e *wall) Probe(context.Context) (sandbox.Info, error) { return e.info, e.down }

// List fails where the engine cannot run.
func (e *wall) List(ctx context.Context) ([]sandbox.Status, error) {
	found, err := e.Memory.List(ctx)
	for i := range found {
		found[i].Engine = e.Name()
	}
	return found, errors.Join(err, e.down)
}

// newWall is an engine that keeps every limit.
func newWall(name string) *wall {
	return &wall{Memory: sandboxtest.NewMemory(), info: sandbox.Info{
		Engine: name, Version: "1", Boundary: "a wall of paper", Isolated: true, ProtectedPaths: true,
		Networks:    []sandbox.Network{sandbox.NetworkNone, sandbox.NetworkGate},
		LimitMemory: true, LimitCPUs: true, LimitProcesses: true, LimitDisk: true,
	}}
}

func downWall(name string) *wall {
	e := newWall(name)
	e.down = &sandbox.UnavailableError{Engine: name, Reason: "its daemon is asleep", Fix: "wake it"}
	return e
}

// paper is a project on a machine with such engines, where tests run ralph in this
// process.
type paper struct {
	t       *testing.T
	project string
	home    string
	env     map[string]string
	engines []sandbox.Engine
}

func newPaper(t *testing.T, engines ...sandbox.Engine) *paper {
	t.Helper()
	p := &paper{t: t, project: t.TempDir(), home: t.TempDir(), engines: engines}
	must(t, os.WriteFile(filepath.Join(p.project, "PROMPT.md"), []byte("do it"), 0o644))
	p.env = map[string]string{
		"HOME": p.home, "RALPH_STATE_DIR": t.TempDir(), "RALPH_AGENT_NAME": "command",
		"RALPH_AGENT_COMMAND": "sh,-c,echo x >>work; echo working", "RALPH_SANDBOX_NETWORK_POLICY": "deny",
	}
	return p
}

// ralph runs a command.
func (p *paper) ralph(args ...string) ended {
	p.t.Helper()
	var out, err bytes.Buffer
	code := cli.Main(p.t.Context(), cli.World{
		In: strings.NewReader(""), Out: &out, Err: &err, Getenv: func(name string) string { return p.env[name] },
		Engines: func(string) []sandbox.Engine { return p.engines },
	}, args)
	return ended{out.String(), err.String(), code}
}

// launches are what the record of the one run says of its sandboxes.
func (p *paper) launches() (all []rundir.Launch) {
	p.t.Helper()
	logs, _ := filepath.Glob(filepath.Join(p.project, ".ralph/runs/*/logs/events.jsonl"))
	if len(logs) != 1 {
		p.t.Fatalf("%d runs", len(logs))
	}
	for _, line := range lines(p.t, logs[0]) {
		var e rundir.Event
		must(p.t, json.Unmarshal([]byte(line), &e))
		if e.Type == rundir.EventLaunch {
			var l rundir.Launch
			must(p.t, json.Unmarshal(e.Data, &l))
			all = append(all, l)
		}
	}
	return all
}

// TestTheRunTellsItsEngine: in a line when it begins, and in its record.
func TestTheRunTellsItsEngine(t *testing.T) {
	chosen := newWall("podman")
	chosen.info.Runtime, chosen.info.Lacks = "crun", []string{"a kernel of its own"}
	p := newPaper(t, newWall("bubblewrap"), chosen, downWall("gvisor"))
	got := p.ralph("run", "-C", p.project, "--max-iterations", "1", "--use-bypass-permissions=false")
	if got.code != 3 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	for _, want := range []string{
		"ralph: engine podman 1 with crun: a wall of paper; passed over: gvisor: its daemon is asleep\n",
		"note: podman lacks: a kernel of its own\n",
		"sandbox starts: podman 1 with crun, a wall of paper",
	} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("no %q in\n%s", want, got.stderr)
		}
	}
	l := p.launches()[0]
	if l.Engine != "podman" || l.Runtime != "crun" || l.Reason != "the strongest that works here" || l.Permission != "acceptEdits" ||
		!slices.Equal(l.PassedOver, []string{"gvisor: its daemon is asleep"}) || !slices.Equal(l.Lacks, chosen.info.Lacks) {
		t.Errorf("the record says %+v", l)
	}
	if shown := p.ralph("logs", "-C", p.project); !strings.Contains(shown.stdout, "podman 1 with crun") {
		t.Errorf("logs say\n%s%s", shown.stdout, shown.stderr)
	}
}

// TestTheResumedRunChoosesAnew: what was stored of the choice is what the user said,
// and flags count over it.
func TestTheResumedRunChoosesAnew(t *testing.T) {
	p := newPaper(t, newWall("gvisor"), newWall("docker"))
	if got := p.ralph("run", "-C", p.project, "--max-iterations", "1", "--sandbox"); got.code != 3 {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	got := p.ralph("resume", "-C", p.project, "--max-iterations", "2", "--container-runtime", "docker")
	if got.code != 3 || !strings.Contains(got.stderr, "the run was in gvisor before, and goes on in docker") {
		t.Fatalf("exit %d\n%s", got.code, got.stderr)
	}
	all := p.launches()
	if len(all) != 2 || all[0].Engine != "gvisor" || all[1].Engine != "docker" || all[1].Reason != "asked for" {
		t.Errorf("the record says %+v", all)
	}
	if got := p.ralph("resume", "-C", p.project, "--no-sandbox"); got.code != 2 || !strings.Contains(got.stderr, "the sandbox is turned off") {
		t.Errorf("exit %d\n%s", got.code, got.stderr)
	}
}

// TestReuseContainer: without it, every iteration has a sandbox of its own.
func TestReuseContainer(t *testing.T) {
	for toml, want := range map[string]int{"": 1, "[sandbox]\nreuse_container = false\n": 3} {
		engine := newWall("gvisor")
		p := newPaper(t, engine)
		must(t, os.WriteFile(filepath.Join(p.project, "ralph.toml"), []byte(toml), 0o644))
		if got := p.ralph("run", "-C", p.project, "--max-iterations", "3"); got.code != 3 || len(engine.Specs()) != want {
			t.Errorf("%q: exit %d after %d sandboxes, want %d\n%s", toml, got.code, len(engine.Specs()), want, got.stderr)
		}
	}
}

// TestTimeoutEndsTheSandbox: with the iteration that takes too long, and says so.
func TestTimeoutEndsTheSandbox(t *testing.T) {
	engine := newWall("gvisor")
	p := newPaper(t, engine)
	p.env["RALPH_AGENT_COMMAND"] = "sh,-c,echo working; sleep 60"
	must(t, os.WriteFile(filepath.Join(p.project, "ralph.toml"), []byte("[sandbox.resources]\ntimeout_minutes = 0.005\n"), 0o644))
	got := p.ralph("run", "-C", p.project, "--max-iterations", "2")
	if len(engine.Specs()) != 2 || strings.Count(got.stderr, "ends: timed-out: it took longer than it may") != 2 {
		t.Errorf("exit %d after %d sandboxes\n%s", got.code, len(engine.Specs()), got.stderr)
	}
}

// TestImages: they are for engines that have some, and auto finds one.
func TestImages(t *testing.T) {
	images := newWall("docker")
	images.info.Image = true
	for name, tt := range map[string]struct {
		args []string
		env  map[string]string
		code int
		said string
		want string // the image that was used
	}{
		"nobody names one":          {args: []string{"--engine", "docker"}},
		"auto finds an engine":      {args: []string{"--image", "img:1"}, want: "img:1"},
		"a file names it":           {env: map[string]string{"RALPH_SANDBOX_IMAGE": "img:2"}, want: "img:2"},
		"an engine without":         {args: []string{"--image", "img:1", "--engine", "gvisor"}, code: 2, said: "--rootfs"},
		"an option in its place":    {args: []string{"--image", "--privileged"}, code: 2, said: "begins with a dash"},
		"only named ones have none": {args: []string{"--engine", "gvisor"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPaper(t, newWall("gvisor"), images)
			before := len(images.Specs())
			maps.Copy(p.env, tt.env)
			got := p.ralph(append(append([]string{"exec", "-w", p.project}, tt.args...), "--", "true")...)
			if got.code != tt.code || !strings.Contains(got.stderr, tt.said) {
				t.Errorf("exit %d\n%s", got.code, got.stderr)
			}
			if used := images.Specs()[before:]; tt.want != "" && (len(used) != 1 || used[0].Image != tt.want) {
				t.Errorf("used %+v", used)
			}
		})
	}
}

// TestSandboxesOfAllEngines: one that is down hides nothing of the others.
func TestSandboxesOfAllEngines(t *testing.T) {
	up, again := newWall("docker"), newWall("docker")
	again.Memory = up.Memory // the same engine, with another runtime
	box, err := up.Create(t.Context(), sandbox.Spec{Mounts: []sandbox.Mount{{Source: t.TempDir(), Target: "/w"}}, Network: sandbox.NetworkNone})
	must(t, err)
	p := newPaper(t, up, again, downWall("podman"))
	const note = "the sandboxes of podman cannot be seen: engine podman cannot run here: its daemon is asleep"

	ls := p.ralph("sandbox", "ls")
	if ls.code != 0 || strings.Count(ls.stdout, box.ID()) != 1 || ls.stderr != "ralph: note: "+note+"\n" {
		t.Errorf("ls: exit %d\n%s%s", ls.code, ls.stdout, ls.stderr)
	}
	for _, args := range [][]string{{"sandbox", "prune"}, {"prune-sandboxes"}} {
		if got := p.ralph(args...); got.code != 1 || got.stderr != "ralph: "+note+"\n" {
			t.Errorf("%v: exit %d\n%s%s", args, got.code, got.stdout, got.stderr)
		}
	}
	if got := p.ralph("sandbox", "rm", "ralph-none"); got.code != 2 || !strings.Contains(got.stderr, note) {
		t.Errorf("rm of none: exit %d\n%s", got.code, got.stderr)
	}
	if got := p.ralph("sandbox", "rm", box.ID(), box.ID()); got.code != 0 || strings.Count(got.stdout, box.ID()) != 1 {
		t.Errorf("rm: exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if left, _ := up.List(t.Context()); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestSecretsAreRecorded: by their names, and never in a run of research.
func TestSecretsAreRecorded(t *testing.T) {
	p := newPaper(t, newWall("gvisor"))
	p.env["RALPH_AGENT_COMMAND"] = "sh,-c,cat ~/.netrc >copy; echo working"
	home, err := filepath.EvalSymlinks(p.home)
	must(t, err)
	secret := filepath.Join(home, ".netrc")
	must(t, os.WriteFile(secret, []byte("password s3cret"), 0o600))
	got := p.ralph("run", "-C", p.project, "--max-iterations", "1", "--readonly-secret", "~/.netrc")
	if copied, _ := os.ReadFile(filepath.Join(p.project, "copy")); got.code != 3 || string(copied) != "password s3cret" {
		t.Errorf("exit %d, inside it was %q\n%s", got.code, copied, got.stderr)
	}
	if l := p.launches()[0]; !slices.Equal(l.Secrets, []string{secret}) {
		t.Errorf("recorded: %q", l.Secrets)
	}
	if !strings.Contains(got.stderr, "note: the real "+secret+" goes into the sandbox") {
		t.Errorf("it is not told:\n%s", got.stderr)
	}

	p = newPaper(t, newWall("gvisor"))
	p.env["RALPH_SANDBOX_READONLY_SECRETS"] = secret
	got = p.ralph("run", "-C", p.project, "--max-iterations", "1", "--data", filepath.Join(p.project, "PROMPT.md"))
	if !strings.Contains(got.stderr, "sandbox.readonly_secrets is not used") {
		t.Errorf("research: exit %d\n%s", got.code, got.stderr)
	}
}
