//go:build linux

package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/cli"
	"github.com/agent-loop/ralph/internal/modeltest"
	"github.com/agent-loop/ralph/internal/money"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// TestRunsBehindLinks: a repository can bring links where runs are kept. Nothing is
// written where they lead, and no run that lies there is taken for the project's.
func TestRunsBehindLinks(t *testing.T) {
	for name, plant := range map[string]func(l *lab, other string) error{
		"the folder above is a link": func(l *lab, other string) error { return os.Symlink(other, filepath.Join(l.project, ".ralph")) },
		"the folder is a link": func(l *lab, other string) error {
			return os.Symlink(filepath.Join(other, "runs"), filepath.Join(l.project, ".ralph", "runs"))
		},
		"it is a file": func(l *lab, _ string) error { l.write(".ralph/runs", "x"); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newHostileLab(t, sayComplete)
			other := filepath.Join(l.home, "other")
			run, err := rundir.Create(filepath.Join(other, "runs"), "theirs", struct{}{}, rundir.Options{})
			must(t, err)
			must(t, run.Close())
			if !strings.HasPrefix(name, "the folder above") {
				must(t, os.Mkdir(filepath.Join(l.project, ".ralph"), 0o755))
			}
			must(t, plant(l, other))
			before := fileTimes(t, other)
			for _, args := range [][]string{{"run"}, {"ls"}, {"show"}, {"stop"}, {"resume", "theirs"}} {
				got := l.ralph(args...)
				if got.code != 2 || strings.Contains(got.stdout, "theirs") || !strings.Contains(got.stderr, "link or no folder") {
					t.Errorf("%v: exit %d\n%s%s", args, got.code, got.stdout, got.stderr)
				}
			}
			if after := fileTimes(t, other); !slices.Equal(before, after) {
				t.Errorf("something was written there:\n%q\n%q", before, after)
			}
			l.nothingLeft()
		})
	}
}

// fileTimes lists all below a folder, with the time it was changed.
func fileTimes(t *testing.T, dir string) (list []string) {
	t.Helper()
	must(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			list = append(list, path+" "+info.ModTime().Format(time.RFC3339Nano))
		}
		return err
	}))
	return list
}

// TestRunsOfProjectsWithin: an agent that works on a folder neither sees nor writes
// the runs of projects in it, nor moves them away for its next sandbox to show.
func TestRunsOfProjectsWithin(t *testing.T) {
	l := newHostileLab(t, `exec 2>&1
find sub -name spec.json | grep . && echo LEAK""ED
find moved -name spec.json 2>/dev/null | grep . && echo LEAK""ED
for f in sub/.ralph/x sub/.ralph/runs/x sub/runs/x; do echo evil >$f && echo WR""OTE $f; done
mv sub moved && echo MO""VED; mv sub/.ralph x && echo MO""VED; mv sub/runs x && echo MO""VED
echo mine >sub/mine`+sayComplete)
	l.env = append(l.env, "RALPH_SANDBOX_REUSE_CONTAINER=false")
	l.write("sub/PROMPT.md", "do it")
	l.write("sub/data/x", "")
	for _, args := range [][]string{{"run", "-C", "sub"}, {"run", "-C", "sub", "--data", "sub/data", "--validate", "true"}} {
		args = append(args, "--max-iterations", "1", "--agent", "command")
		cmd := l.command(args...)
		cmd.Env = append(cmd.Env, "RALPH_AGENT_COMMAND=echo,"+strings.TrimSpace("<promise>COMPLETE</promise>"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	before := fileTimes(t, filepath.Join(l.project, "sub", ".ralph"))
	got := l.ralph("run", "--max-iterations", "2", "--validate", "test -e enough")
	all := got.stdout + got.stderr
	if got.code != 3 || strings.Contains(all, "LEAKED") || strings.Contains(all, "WROTE") || strings.Contains(all, "MOVED") || !strings.Contains(all, "Read-only") {
		t.Errorf("exit %d\n%s", got.code, all)
	}
	if after := fileTimes(t, filepath.Join(l.project, "sub", ".ralph")); !slices.Equal(before, after) {
		t.Errorf("the runs were changed:\n%q\n%q", before, after)
	}
	if !l.has("sub/mine") {
		t.Error("the agent cannot write beside them")
	}
	if got := l.ralph("run", "--data", "sub"); got.code != 2 || !strings.Contains(got.stderr, "holds runs") {
		t.Errorf("data that holds runs: exit %d\n%s", got.code, got.stderr)
	}
	l.nothingLeft()
}

// interrupting is an engine while whose probe the user says to stop.
type interrupting struct {
	sandbox.Engine
	stop func()
}

func (e interrupting) Probe(ctx context.Context) (sandbox.Info, error) {
	e.stop()
	return e.Engine.Probe(context.WithoutCancel(ctx))
}

// TestStoppedBeforeTheRun: a signal that comes before there is a run to stop is not
// lost, and nothing is left of what was begun.
func TestStoppedBeforeTheRun(t *testing.T) {
	project, state := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(project, "PROMPT.md"), []byte("do it"), 0o644))
	engine := sandboxtest.NewMemory()
	ctx, stop := context.WithCancel(t.Context())
	env := map[string]string{
		"HOME": t.TempDir(), "RALPH_STATE_DIR": state, "RALPH_AGENT_NAME": "command", "RALPH_AGENT_COMMAND": "echo,done",
		"RALPH_BUDGET_MAX_ITERATIONS": "1", "RALPH_SANDBOX_NETWORK_POLICY": "deny",
	}
	var out bytes.Buffer
	code := cli.Main(ctx, cli.World{
		In: strings.NewReader(""), Out: io.Discard, Err: &out, Getenv: func(name string) string { return env[name] },
		Engines: func(string) []sandbox.Engine { return []sandbox.Engine{interrupting{engine, stop}} },
		Signals: func(chan<- os.Signal) func() { return func() {} },
	}, []string{"run", "-C", project})
	if code != 130 || len(engine.Specs()) != 0 {
		t.Errorf("exit %d after %d sandboxes\n%s", code, len(engine.Specs()), &out)
	}
	if left, _ := filepath.Glob(filepath.Join(project, ".ralph", "runs", "*")); len(left) > 0 {
		list, err := rundir.List(filepath.Dir(left[0]), rundir.Filter{})
		if err != nil || len(list) != 1 || list[0].Status != rundir.Stopped {
			t.Errorf("left: %v, %+v", left, list)
		}
	}
}

// TestNamesOfRuns: what cannot be a run's id, or means something else, is told
// before anything is made.
func TestNamesOfRuns(t *testing.T) {
	l := newHostileLab(t, sayComplete)
	for _, id := range []string{"a/b", "..", ".hidden", "-x", "a\nb", "\x1b[31m", strings.Repeat("x", 65), "latest"} {
		got := l.ralph("run", "--id="+id)
		if got.code != 2 || !strings.Contains(got.stderr, "hint: --id") || strings.Contains(got.stderr, "\x1b") {
			t.Errorf("%q: exit %d\n%q", id, got.code, got.stderr)
		}
	}
	if l.has(".ralph") {
		t.Error("something was made")
	}
}

// TestErrorsAreSafe: names that a terminal would obey are shown in errors without
// what it would.
func TestErrorsAreSafe(t *testing.T) {
	l := newHostileLab(t, sayComplete)
	l.project = filepath.Join(l.project, "evil\x1b]0;title\x07\u202e\u009b31m")
	must(t, os.Mkdir(l.project, 0o755))
	for _, args := range [][]string{{"ls"}, {"show"}, {"logs"}, {"verify"}, {"stop"}, {"run"}, {"show", "\x1b[31m"}} {
		if got := l.ralph(args...); strings.ContainsAny(got.stdout+got.stderr, "\x1b\x07\u202e\u009b") || got.stderr == "" {
			t.Errorf("%v: exit %d\n%q", args, got.code, got.stdout+got.stderr)
		}
	}
}

// TestLimitsOfTheLastResume: what the user last said holds until the user says
// something else.
func TestLimitsOfTheLastResume(t *testing.T) {
	l := newHostileLab(t, "date +%N >>work; echo more")
	run := func(want string, args ...string) {
		t.Helper()
		got := l.ralph(args...)
		if state := l.read().state; got.code != 3 || !strings.Contains(state.StopReason, want) {
			t.Errorf("%v: exit %d, %s, want %s\n%s", args, got.code, state.StopReason, want, got.stderr)
		}
	}
	run("limit of 1 iterations", "run", "--max-iterations", "1")
	run("limit of 3 iterations", "resume", "--max-iterations", "3", "--max-cost-usd", "2.5", "--max-time", "1h30m", "--max-tokens", "1000")
	run("limit of 3 iterations", "resume")
	want := rundir.Limits{MaxCostUSD: 2_500_000_000, MaxTokens: 1000, MaxIterations: 3, MaxTimeSeconds: 5400}
	if got := l.read().state.Limits; got != want {
		t.Errorf("the limits are %+v, want %+v", got, want)
	}
	run("limit of 4 iterations", "resume", "--max-iterations", "4")
	if got := l.read().state.Limits; got.MaxCostUSD != want.MaxCostUSD {
		t.Errorf("a limit that nobody spoke of is %v", got.MaxCostUSD)
	}
}

// TestSecretsInAQuestion: what an agent asks is masked like all of the record, in
// the file for the answer and in what is sent to the user.
func TestSecretsInAQuestion(t *testing.T) {
	l := newHostileLab(t, `echo "$CLAUDE_CODE_OAUTH_TOKEN" >phantom; echo "$CLAUDE_CODE_OAUTH_TOKEN" >&2; echo "<promise>DECIDE: is it $CLAUDE_CODE_OAUTH_TOKEN?</promise>"`)
	notified := filepath.Join(l.home, "notified")
	l.env = append(l.env, "RALPH_NOTIFY_COMMAND=tee,"+notified)
	if got := l.ralph("run", "--upstream", "http://127.0.0.1:1"); got.code != 4 {
		t.Fatalf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	text, err := os.ReadFile(filepath.Join(l.project, "phantom"))
	phantom := bytes.TrimSpace(text)
	if err != nil || len(phantom) < 20 {
		t.Fatalf("the agent had no credential: %q, %v", phantom, err)
	}
	told, err := os.ReadFile(notified)
	if err != nil || bytes.Contains(told, phantom) || !bytes.Contains(told, []byte("is it ")) {
		t.Errorf("the user is told %s, %v", told, err)
	}
	must(t, filepath.Walk(l.run().Path(), func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, phantom) || bytes.Contains(text, []byte(realSetupToken)) {
			t.Errorf("%s holds a credential", path)
		}
		return err
	}))
}

// callsBehind is an agent that makes calls from the background and is gone before
// they are answered, and whose heirs go on calling.
const callsBehind = `cat >/tmp/call.sh <<'X'
while :; do curl -s -m 20 -H "Authorization: Bearer $CLAUDE_CODE_OAUTH_TOKEN" -H 'anthropic-version: 2023-06-01' -H 'content-type: application/json' -d '{"model":"claude-sonnet-5","max_tokens":100,"messages":[{"role":"user","content":"hi"}]}' "$ANTHROPIC_BASE_URL/v1/messages" >>/tmp/answers 2>&1; done
X
for i in 1 2 3 4; do setsid sh /tmp/call.sh </dev/null >/dev/null 2>&1 & done
sleep 1; head -c 300 /tmp/answers; date +%N >>work; echo more`

// TestCallsAfterTheAgent: what the agent's heirs spend is on the bill, and the
// budget holds, whenever they call.
func TestCallsAfterTheAgent(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("the agent calls by curl")
	}
	for name, tt := range map[string]struct {
		cap    string
		status rundir.Status
	}{
		"with room":    {"5", rundir.Limit},
		"next to none": {"0.012", rundir.Limit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newHostileLab(t, callsBehind)
			server := modeltest.New(t, modeltest.Say("hello").Uses(perCall()).Forever())
			got := l.ralph("run", "--upstream", server.URL, "--max-cost-usd", tt.cap, "--max-iterations", "2")
			a := l.read()
			answered := money.USD(len(server.Calls())) * callCost
			most, err := money.Parse(tt.cap)
			must(t, err)
			if got.code != 3 || a.state.Status != tt.status || len(server.Calls()) == 0 {
				t.Errorf("exit %d, %s, %d calls\n%s%s", got.code, a.state.Status, len(server.Calls()), got.stdout, got.stderr)
			}
			if a.charged < answered || a.charged > most || a.state.CostUSD != a.charged {
				t.Errorf("the provider bills %v, the record %v and %v, the most is %v", answered, a.charged, a.state.CostUSD, most)
			}
			if v := l.ralph("verify"); v.code != 0 {
				t.Errorf("verify: %s", v.stderr)
			}
			l.nothingLeft()
		})
	}
}

// TestValidatedAtHome: what an agent leaves in its home or in /tmp, where settings of
// build tools are, does not make its work pass.
func TestValidatedAtHome(t *testing.T) {
	for _, trace := range []string{"$HOME/.profile", "/tmp/trace", "/run/trace"} {
		t.Run(trace, func(t *testing.T) {
			t.Parallel()
			l := newHostileLab(t, "echo x >"+trace+"; date +%N >>work"+sayComplete)
			got := l.ralph("run", "--max-iterations", "2", "--validate", "test -e "+trace)
			if got.code != 3 || !strings.Contains(l.checkpoint().ValidationFailure, "new sandbox") {
				t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
			}
			l.nothingLeft()
		})
	}
}

func (l *lab) checkpoint() rundir.Checkpoint {
	l.t.Helper()
	_, c, err := l.run().LastCheckpoint()
	must(l.t, err)
	return c
}
