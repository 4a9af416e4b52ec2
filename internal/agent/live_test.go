//go:build unix

package agent_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/modeltest"
)

// project is where a real agent works in a test, with its home beside it.
type project struct{ folder, home string }

func newProject(t *testing.T) project {
	t.Helper()
	return project{t.TempDir(), t.TempDir()}
}

func (p project) write(t *testing.T, name, content string) {
	t.Helper()
	file := filepath.Join(p.folder, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run is one iteration of a real agent.
type run struct {
	exit    agent.Exit
	summary *agent.Summary
	events  []agent.Event
	stdout  []byte
	stderr  string
}

func (r run) outcome(who agent.Agent, gate agent.Gate) agent.Outcome {
	return who.Outcome(r.exit, gate, r.summary, agent.Tags{})
}

// task is what a test asks of an agent, against a server, unless it says more.
func task(t *testing.T, name string, server *modeltest.Server, p project) (agent.Agent, agent.Task) {
	t.Helper()
	who, err := agent.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	access := agent.Access{BaseURL: server.URL, Phantom: "phantom", Kind: agent.APIKey}
	if who.Provider == agent.OpenAI {
		access.BaseURL = server.OpenAI()
	}
	return who, agent.Task{
		Access: access, Prompt: "do it", PermissionMode: agent.Bypass,
		Program: []string{modeltest.Agent(t, name)}, Home: p.home,
	}
}

// start runs a task. Once the process runs, during is called with it.
func start(t *testing.T, who agent.Agent, task agent.Task, p project, during func(*os.Process)) run {
	t.Helper()
	invocation, err := who.Invocation(task)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, invocation.Argv[0], invocation.Argv[1:]...)
	cmd.Dir = p.folder
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, invocation.Env...)
	cmd.Stdin = strings.NewReader(invocation.Stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second // what an agent leaves behind may hold the pipes
	if err := os.MkdirAll(filepath.Join(p.home, ".codex"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if during != nil {
		during(cmd.Process)
	}
	var failure *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &failure) && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Errorf("%s did not end\n%s", who.Name, stdout.String())
	}
	return read(who, cmd.ProcessState, stdout.Bytes(), stderr.String())
}

func read(who agent.Agent, state *os.ProcessState, stdout []byte, stderr string) run {
	parser := who.Parser()
	events := append(parser.Feed(stdout), parser.Close()...)
	r := run{exit: agent.Exit{Code: state.ExitCode()}, summary: agent.Summarize(events...), events: events, stdout: stdout, stderr: stderr}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		r.exit = agent.Exit{Code: -1, Signal: status.Signal().String()}
	}
	return r
}

// TestRealAgents: what real agents do in each case, and what ralph makes of it.
func TestRealAgents(t *testing.T) {
	refuse := func(status int, kind string, headers ...string) modeltest.Turn {
		return modeltest.Refuse(status, modeltest.AnthropicError(kind, "no"), headers...).Forever()
	}
	say := modeltest.Say("all is well <promise>COMPLETE</promise>")
	shell := modeltest.Shell("echo made-by-the-$((40+2))")
	for _, test := range []struct {
		name   string
		agent  string
		script []modeltest.Turn
		change func(*agent.Task)
		gate   agent.Gate
		want   agent.Verdict
		marker agent.MarkerKind
	}{
		{name: "text", agent: "claude", script: []modeltest.Turn{say}, want: agent.OK, marker: agent.CompleteMarker},
		{name: "text", agent: "codex", script: []modeltest.Turn{say}, want: agent.OK, marker: agent.CompleteMarker},
		{name: "tool", agent: "claude", script: []modeltest.Turn{shell, say}, want: agent.OK, marker: agent.CompleteMarker},
		{name: "tool", agent: "codex", script: []modeltest.Turn{shell, say}, want: agent.OK, marker: agent.CompleteMarker},
		{name: "marker in a tool's output", agent: "claude", script: []modeltest.Turn{modeltest.Shell("echo '<promise>COMPLETE</promise>'"), modeltest.Say("I looked")}, want: agent.OK},
		{name: "blocked", agent: "codex", script: []modeltest.Turn{modeltest.Say("<promise>BLOCKED: no database</promise>")}, want: agent.Blocked, marker: agent.BlockedMarker},
		{name: "401", agent: "claude", script: []modeltest.Turn{refuse(401, "authentication_error")}, want: agent.Unauthorised},
		{name: "401", agent: "codex", script: []modeltest.Turn{refuse(401, "authentication_error")}, gate: agent.Gate{Unauthorised: true}, want: agent.Unauthorised},
		{name: "401 without a word from the gate", agent: "codex", script: []modeltest.Turn{refuse(401, "authentication_error")}, want: agent.Failed},
		{name: "429", agent: "claude", script: []modeltest.Turn{refuse(429, "rate_limit_error", "Retry-After", "600")}, want: agent.RateLimited},
		{name: "429", agent: "codex", script: []modeltest.Turn{refuse(429, "rate_limit_error")}, gate: agent.Gate{Limited: true}, want: agent.RateLimited},
		{name: "529", agent: "claude", script: []modeltest.Turn{refuse(529, "overloaded_error")}, want: agent.Overloaded},
		{name: "budget spent, as the gate says it", agent: "claude", script: []modeltest.Turn{refuse(403, "permission_error", "X-Should-Retry", "false")}, gate: agent.Gate{BudgetSpent: true}, want: agent.BudgetSpent},
		{name: "403", agent: "claude", script: []modeltest.Turn{refuse(403, "permission_error", "X-Should-Retry", "false")}, want: agent.Unauthorised},
		{name: "max turns", agent: "claude", script: []modeltest.Turn{shell.Forever()}, change: func(t *agent.Task) { t.MaxTurns = 2 }, want: agent.MaxTurns},
		{name: "not permitted", agent: "claude", script: []modeltest.Turn{modeltest.Shell("touch /tmp/x"), modeltest.Say("I may not")}, change: func(t *agent.Task) { t.PermissionMode = agent.AcceptEdits }, want: agent.Denied},
		{name: "a long prompt", agent: "claude", script: []modeltest.Turn{say}, change: longPrompt, want: agent.OK, marker: agent.CompleteMarker},
		{name: "a long prompt", agent: "codex", script: []modeltest.Turn{say}, change: longPrompt, want: agent.OK, marker: agent.CompleteMarker},
	} {
		t.Run(test.agent+" "+test.name, func(t *testing.T) {
			t.Parallel()
			server, p := modeltest.New(t, test.script...), newProject(t)
			who, task := task(t, test.agent, server, p)
			if test.change != nil {
				test.change(&task)
			}
			r := start(t, who, task, p, nil)
			record(t, test.agent+" "+test.name, r.stdout)
			got := r.outcome(who, test.gate)
			if got.Verdict != test.want || got.Marker.Kind != test.marker {
				t.Errorf("%+v, want %s %s\nexit %+v\n%s\n%s", got, test.want, test.marker, r.exit, r.stdout, r.stderr)
			}
			for _, e := range r.events {
				if e.Kind == agent.Raw && e.Code == "" {
					t.Errorf("not understood: %s", e.Line(300))
				}
			}
			if body := string(server.Calls()[0].Body); !strings.Contains(body, task.Prompt[:5]) || strings.Count(body, "x") < strings.Count(task.Prompt, "x") {
				t.Errorf("the prompt did not arrive: %d bytes", len(body))
			}
		})
	}
}

func longPrompt(t *agent.Task) { t.Prompt = "do it\n" + strings.Repeat("x", 300<<10) }

// record keeps a stream for the tests that have no real agents, on demand.
func record(t *testing.T, name string, stdout []byte) {
	t.Helper()
	folder := os.Getenv("RALPH_RECORD_STREAMS")
	if folder == "" {
		return
	}
	file := filepath.Join(folder, strings.NewReplacer(" ", "-", "'", "").Replace(name)+".jsonl")
	if err := os.WriteFile(file, stdout, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestRealAgentsUsage: an agent's account is the model's.
func TestRealAgentsUsage(t *testing.T) {
	usage := modeltest.Usage{Input: 1111, CacheRead: 222, CacheWrite: 33, Output: 44}
	want := agent.Usage{Input: 1111 + 10, CacheRead: 222, CacheWrite: 33, Output: 44 + 5}
	for _, name := range []string{"claude", "codex"} {
		t.Run(name, func(t *testing.T) {
			server, p := modeltest.New(t, modeltest.Shell("true").Uses(usage), modeltest.Say("done")), newProject(t)
			who, task := task(t, name, server, p)
			r := start(t, who, task, p, nil)
			cost := r.summary.Cost()
			if cost.Usage != want || cost.Known != (name == "claude") || cost.Known && cost.USD <= 0 {
				t.Errorf("%+v, want %+v\n%s", cost, want, r.stdout)
			}
		})
	}
}

// TestRealAgentsKilled: a signal ends them without a result.
func TestRealAgentsKilled(t *testing.T) {
	for _, name := range []string{"claude", "codex"} {
		t.Run(name, func(t *testing.T) {
			server, p := modeltest.New(t, modeltest.Say("half").Stalled()), newProject(t)
			who, task := task(t, name, server, p)
			r := start(t, who, task, p, func(process *os.Process) {
				server.Await(1)
				if err := process.Signal(syscall.SIGTERM); err != nil {
					t.Error(err)
				}
			})
			if got := r.outcome(who, agent.Gate{}); got.Verdict != agent.Killed || got.Finished {
				t.Errorf("%+v, exit %+v\n%s", got, r.exit, r.stdout)
			}
		})
	}
}

// TestSubscriptionLimit: a subscription's limit says when it ends.
func TestSubscriptionLimit(t *testing.T) {
	until := time.Now().Add(2 * time.Hour).Truncate(time.Second)
	reset := strconv.FormatInt(until.Unix(), 10)
	server, p := modeltest.New(t, modeltest.Refuse(429, modeltest.AnthropicError("rate_limit_error", "no"),
		"Anthropic-Ratelimit-Unified-Status", "rejected", "Anthropic-Ratelimit-Unified-Reset", reset,
		"Anthropic-Ratelimit-Unified-Representative-Claim", "five_hour").Forever()), newProject(t)
	who, task := task(t, "claude", server, p)
	task.Kind = agent.OAuth
	r := start(t, who, task, p, nil)
	record(t, "claude-subscription", r.stdout)
	if got := r.outcome(who, agent.Gate{}); got.Verdict != agent.RateLimited || !got.Until.Equal(until) {
		t.Errorf("%+v, want the limit until %s\n%s", got, until, r.stdout)
	}
}

// TestRealAgentsResume: a session goes on under its name.
func TestRealAgentsResume(t *testing.T) {
	for _, name := range []string{"claude", "codex"} {
		t.Run(name, func(t *testing.T) {
			server, p := modeltest.New(t, modeltest.Say("the first word"), modeltest.Say("the second")), newProject(t)
			who, task := task(t, name, server, p)
			first := start(t, who, task, p, nil)
			task.Resume, task.Prompt = first.summary.Session, "go on"
			second := start(t, who, task, p, nil)
			if got := second.outcome(who, agent.Gate{}); got.Verdict != agent.OK {
				t.Fatalf("%+v\n%s\n%s", got, second.stdout, second.stderr)
			}
			if calls := server.Calls(); !bytes.Contains(calls[1].Body, []byte("the first word")) {
				t.Error("the second call does not know the first")
			}
		})
	}
}
