//go:build linux

package cli_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/modeltest"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// standIn is an srt that confines nothing, but tells a program that it is there.
type standIn struct {
	settings string
	commands [][]string // what it was asked to run
}

func (s *standIn) run(ctx context.Context, p *sandboxtest.Process) int {
	if slices.Equal(p.Args, []string{"srt", "--version"}) {
		fmt.Fprintln(p.Stdout, "0.0.83")
		return 0
	}
	if len(p.Args) < 5 || p.Args[1] != "--settings" || p.Args[3] != "--" || p.Dir != "/opt/ralph-inner" {
		fmt.Fprintf(p.Stderr, "srt: started with %q in %s\n", p.Args, p.Dir)
		return 1
	}
	file, err := p.Open(p.Args[2], os.O_RDONLY, 0)
	if err != nil {
		fmt.Fprintln(p.Stderr, err)
		return 1
	}
	defer file.Close()
	text, _ := io.ReadAll(file)
	s.settings, s.commands = string(text), append(s.commands, p.Args[4:])
	return p.Shell(ctx, `shift 3; export SANDBOX_RUNTIME=1; exec "$@"`)
}

// newInnerWall is an engine whose sandboxes have srt and what it needs, but for what
// is left out.
func newInnerWall(without ...string) (*wall, *standIn) {
	e, s := newWall("gvisor"), &standIn{}
	ok := func(context.Context, *sandboxtest.Process) int { return 0 }
	for name, program := range map[string]sandboxtest.ProgramFunc{"srt": s.run, "bwrap": ok, "socat": ok, "rg": ok} {
		if !slices.Contains(without, name) {
			e.Program(name, program)
		}
	}
	return e, s
}

// TestInnerSandbox: the agent runs in it, in its own folder, and the record says so.
func TestInnerSandbox(t *testing.T) {
	engine, srt := newInnerWall()
	p := newPaper(t, engine)
	p.env["RALPH_AGENT_COMMAND"] = `sh,-c,echo "inner $SANDBOX_RUNTIME" >seen; echo 'a  b'`
	got := p.ralph("run", "-C", p.project, "--max-iterations", "1", "--inner-sandbox", "srt")
	if seen, _ := os.ReadFile(filepath.Join(p.project, "seen")); got.code != 3 || string(seen) != "inner 1\n" {
		t.Fatalf("exit %d, the agent saw %q\n%s", got.code, seen, got.stderr)
	}
	if l := p.launches(); len(l) != 1 || l[0].Inner != "srt 0.0.83" {
		t.Errorf("the record says %+v", l)
	}
	if !strings.Contains(got.stderr, "inside it srt 0.0.83") {
		t.Errorf("it is not told:\n%s", got.stderr)
	}
	agents := srt.commands[len(srt.commands)-1]
	if want := []string{"sh", "-c", `echo "inner $SANDBOX_RUNTIME" >seen; echo 'a  b'`}; len(srt.commands) != 2 || !slices.Equal(agents[len(agents)-3:], want) {
		t.Errorf("srt was started with %q", srt.commands)
	}
	if left, _ := filepath.Glob(filepath.Join(p.env["RALPH_STATE_DIR"], "inner/*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	mounts := engine.Specs()[0].Mounts
	if m := mounts[slices.IndexFunc(mounts, func(m sandbox.Mount) bool { return m.Target == "/opt/ralph-inner" })]; !m.ReadOnly {
		t.Error("the agent can write the settings")
	}
}

// TestNoInnerSandbox: nobody gets one who does not ask.
func TestNoInnerSandbox(t *testing.T) {
	engine, srt := newInnerWall()
	p := newPaper(t, engine)
	if got := p.ralph("run", "-C", p.project, "--max-iterations", "1"); got.code != 3 || len(srt.commands) != 0 || p.launches()[0].Inner != "" {
		t.Errorf("exit %d, srt ran %q\n%s", got.code, srt.commands, got.stderr)
	}
}

// TestInnerSandboxOrNothing: where it does not work, no agent is started, of a run
// or of a person.
func TestInnerSandboxOrNothing(t *testing.T) {
	says := func(text string, code int) sandboxtest.ProgramFunc {
		return func(_ context.Context, p *sandboxtest.Process) int {
			fmt.Fprintln(p.Stderr, text)
			return code
		}
	}
	for name, tt := range map[string]struct {
		without  []string
		programs map[string]sandboxtest.ProgramFunc
		want     []string
	}{
		"nothing is installed": {without: []string{"srt", "bwrap", "socat", "rg"}, want: []string{"has no srt, bwrap, socat, rg\n", "hint: put them into the image"}},
		"one is missing":       {without: []string{"socat"}, want: []string{"has no socat\n"}},
		"no namespaces": {programs: map[string]sandboxtest.ProgramFunc{"bwrap": says("bwrap: No permissions\x1b[2J", 1)},
			want: []string{"cannot start in gvisor", "namespaces", "a part of their boundary (bwrap: No permissions", "hint: take an engine"}},
		"it is broken":    {programs: map[string]sandboxtest.ProgramFunc{"srt": says("node: too old", 1)}, want: []string{"srt does not run in gvisor: node: too old\n"}},
		"it confines not": {programs: map[string]sandboxtest.ProgramFunc{"touch": says("", 0)}, want: []string{"srt starts, but what runs in it is not confined\n"}},
		"it refuses its settings": {programs: map[string]sandboxtest.ProgramFunc{"srt": func(_ context.Context, p *sandboxtest.Process) int {
			if p.Args[1] == "--version" {
				return 0
			}
			fmt.Fprintln(p.Stderr, "Error: Refusing to run")
			return 1
		}}, want: []string{"srt does not start in gvisor: Error: Refusing to run\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			engine, _ := newInnerWall(tt.without...)
			for name, program := range tt.programs {
				engine.Program(name, program)
			}
			p := newPaper(t, engine)
			must(t, os.WriteFile(filepath.Join(p.project, "ralph.toml"), []byte("[sandbox]\ninner = \"srt\"\n"), 0o644))
			for _, args := range [][]string{{"run", "-C", p.project}, {"shell", p.project}} {
				got := p.ralph(args...)
				for _, want := range tt.want {
					if got.code != 2 || !strings.Contains(got.stderr, want) || strings.Contains(got.stderr, "\x1b") {
						t.Errorf("%s: exit %d, no %q in\n%s", args[0], got.code, want, got.stderr)
					}
				}
			}
			if _, err := os.Stat(filepath.Join(p.project, "work")); err == nil {
				t.Error("the agent ran")
			}
			if left, _ := engine.List(t.Context()); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// TestInnerSandboxOfShell: a person's agent is in it, too, and its exit code comes out.
func TestInnerSandboxOfShell(t *testing.T) {
	engine, _ := newInnerWall()
	p := newPaper(t, engine)
	p.env["RALPH_AGENT_COMMAND"] = `sh,-c,echo "inner $SANDBOX_RUNTIME"; exit 7`
	if got := p.ralph("shell", p.project, "--inner-sandbox", "srt"); got.code != 7 || got.stdout != "inner 1\n" {
		t.Errorf("exit %d, %q\n%s", got.code, got.stdout, got.stderr)
	}
}

// needsSRT skips a test where srt is not among the programs that a sandbox sees.
func needsSRT(t *testing.T) {
	t.Helper()
	for _, name := range []string{"srt", "bwrap", "socat", "rg", "curl"} {
		_, own := os.Stat("/usr/local/bin/" + name)
		_, system := os.Stat("/usr/bin/" + name)
		if own != nil && system != nil {
			t.Skipf("%s is not among the system's programs", name)
		}
	}
}

// TestRealInnerSandbox: srt itself in a sandbox of gVisor's.
func TestRealInnerSandbox(t *testing.T) {
	needsSRT(t)
	l := newLab(t, `
[agent]
name = "command"
command = ["sh", "-c", """
pwd; echo made >made
touch /run/x 2>/dev/null && echo open: files
unshare -Ur true 2>/dev/null && echo open: namespaces
curl -sS -m 10 http://127.0.0.1:3128/health
curl -sS -m 10 https://refused.example 2>/dev/null && echo open: network
git add -A && git commit -qm made && echo '<promise>COMPLETE</promise>'
"""]
[validation]
command = "test -e made"
`)
	l.commit()
	got := l.ralph("run", "--engine", "gvisor", "--inner-sandbox", "srt", "--allow", "example.com")
	if got.code != 0 || strings.Contains(got.stderr, "open:") || !strings.Contains(got.stderr, "gate denies CONNECT refused.example:443") || l.brought("made") != "made\n" {
		t.Fatalf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if launches := of[rundir.Launch](t, l.check(1), rundir.EventLaunch); len(launches) != 2 || !strings.HasPrefix(launches[0].Inner, "srt ") || launches[1].Inner != "" {
		t.Errorf("the record says %+v", launches)
	}
	if changed := l.changes(); len(changed) != 2 { // "A made"
		t.Errorf("changed: %q", changed)
	}
}

// TestClaudeInTheInnerSandbox: it reaches its models through both walls, and srt
// leaves nothing of its own in the workspace.
func TestClaudeInTheInnerSandbox(t *testing.T) {
	needsSRT(t)
	l := newAgentLab(t, "claude")
	l.env = append(l.env, "RALPH_SANDBOX_INNER=srt")
	models := modeltest.New(t, slices.Concat(story(1), story(2), story(3))...)
	got := l.ralph("run", "--engine", "gvisor", "--upstream", models.URL, "--validate", "test -e made-1")
	if got.code != 0 || !strings.Contains(got.stdout, "all 3 stories pass") {
		t.Fatalf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	a := l.check(3)
	if a.charged != claudeCallCost.Times(6) {
		t.Errorf("%d calls cost %v, want 6 at %v", len(models.Calls()), a.charged, claudeCallCost)
	}
	for _, file := range strings.Fields(l.git("diff", "--name-only", "HEAD", a.state.Commit)) {
		if file != "prd.json" && !strings.HasPrefix(file, "made-") && file != "progress.txt" {
			t.Errorf("committed: %s", file)
		}
	}
}
