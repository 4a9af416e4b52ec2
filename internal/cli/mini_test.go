//go:build linux

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/modeltest"
)

// runMini runs the built-in agent, with nothing installed, in a real sandbox
// through the real gate against a scripted upstream, and reads its output as the
// loop does.
func runMini(t *testing.T, server *modeltest.Server, execFlags ...string) miniRun {
	t.Helper()
	who, err := agent.Find("mini")
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "events.jsonl")
	args := append([]string{"exec", "--agent", who.Name, "--upstream", server.URL, "--events", log, "--mount", ralphBinary + ":/opt/ralph:ro"}, execFlags...)
	cmd, _ := ralph(t, append(args, "--", "/opt/ralph", "mini", "--model", "claude-sonnet-4-5")...)
	cmd.Stdin = strings.NewReader("do it")
	cmd.Env = append(cmd.Env, "RALPH_AGENT_CREDENTIAL=env:USERS_TOKEN", "USERS_TOKEN="+realSetupToken)
	printed, err := cmd.CombinedOutput()
	run := miniRun{out: string(printed), code: exitCode(t, err), events: readEvents(t, log)}
	parser := who.Parser()
	run.summary = agent.Summarize(append(parser.Feed(printed), parser.Close()...)...)
	run.outcome = who.Outcome(agent.Exit{Code: run.code}, agent.Gate{}, run.summary, agent.Tags{})
	return run
}

// miniRun is how that ended.
type miniRun struct {
	out     string
	code    int
	summary *agent.Summary
	outcome agent.Outcome
	events  []gate.Event
}

// TestMiniWorksInASandbox: it changes the workspace, holds only a phantom, and
// what it spends is known.
func TestMiniWorksInASandbox(t *testing.T) {
	server := modeltest.New(t,
		modeltest.Shell(searchForToken+"echo by-mini >made").Uses(modeltest.Usage{Input: 1000, CacheWrite: 300, Output: 50}),
		modeltest.Say("the work is done").Uses(modeltest.Usage{Input: 100, CacheRead: 1300, Output: 20}))
	work := t.TempDir()
	run := runMini(t, server, "--max-cost-usd", "5", "-w", work)
	if run.code != 0 || run.outcome.Verdict != agent.OK || run.summary.Final() != "the work is done" || run.summary.ToolCalls != 1 {
		t.Fatalf("exit %d, %+v\n%s", run.code, run.outcome, run.out)
	}
	if used := run.summary.Cost().Usage; used != (agent.Usage{Input: 1100, CacheWrite: 300, CacheRead: 1300, Output: 70}) {
		t.Errorf("it says that it used %+v", used)
	}
	if made, err := os.ReadFile(filepath.Join(work, "made")); string(made) != "by-mini\n" {
		t.Errorf("the workspace holds %q, %v", made, err)
	}
	calls := server.Calls()
	if last := string(calls[1].Body); !strings.Contains(last, "SEARCH-WAS-DONE-42") || strings.Contains(last, "LEAKED in ") || strings.Contains(run.out, "REALTOKEN") {
		t.Errorf("the search found the credential, or was not made: %.3000s", last)
	}
	for _, r := range calls {
		if r.Header.Get("Authorization") != "Bearer "+realSetupToken {
			t.Errorf("%s came with %v", r.Path, r.Header)
		}
	}
	checkBill(t, run.events, len(calls))
}

// TestMiniStopsWhenTheBudgetIsSpent: the gate's refusal is final, has its exit
// code, and its reason reaches the user.
func TestMiniStopsWhenTheBudgetIsSpent(t *testing.T) {
	server := modeltest.New(t)
	run := runMini(t, server, "--max-cost-usd", "0.01")
	if run.code != 3 || run.outcome.Verdict != agent.BudgetSpent || !strings.Contains(run.outcome.Reason, "budget of $0.01 has no room") || len(server.Calls()) != 0 {
		t.Errorf("exit %d, %+v, %d calls upstream\n%s", run.code, run.outcome, len(server.Calls()), run.out)
	}
	refused := 0
	for _, e := range run.events {
		if e.Code == "budget_spent" {
			refused++
		}
	}
	if refused != 1 {
		t.Errorf("%d refusals, want one: the agent tries again", refused)
	}
}

// TestMiniDoesNothingOutside: without the address that a sandbox gives, or with
// wrong flags, it makes no call and runs no command.
func TestMiniDoesNothingOutside(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no address", nil, "ANTHROPIC_BASE_URL is not set"},
		{"unknown flag", []string{"--turns", "3"}, "unknown flag: --turns"},
		{"no number", []string{"--max-turns", "many"}, "invalid argument"},
		{"argument", []string{"do it"}, "unknown command"},
		{"no file", []string{"--system", "/nowhere/prompt"}, "reading the system prompt"},
		{"empty file", []string{"--system", empty}, "the system prompt has 0 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd, _ := ralph(t, append([]string{"mini"}, tt.args...)...)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=" + realSetupToken}
			cmd.Stdin = strings.NewReader("do it")
			out, err := cmd.CombinedOutput()
			if code := exitCode(t, err); code != 2 || !strings.Contains(string(out), tt.want) || strings.Contains(string(out), "REALTOKEN") {
				t.Errorf("exit %d, %s", code, out)
			}
		})
	}
}
