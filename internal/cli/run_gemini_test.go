//go:build linux

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/modeltest"
	"github.com/agent-loop/ralph/internal/money"
)

const (
	realGeminiKey = "AIzaSyREAL-KEY-OF-THE-USER-0123456789ab"

	// With gemini-2.5-pro at $1.25, $0.125 for what is read from the cache and $10.
	geminiCallCost = (1000*1250 + 500*125 + 50*10_000) * money.Dollar / 1_000_000_000
)

// newGeminiLab is a project for gemini without a task file.
func newGeminiLab(t *testing.T) *lab {
	t.Helper()
	l := newAgentLab(t, "gemini")
	l.env = append(l.env, "USERS_TOKEN="+realGeminiKey)
	must(t, os.Remove(filepath.Join(l.project, "prd.json")))
	return l
}

// TestGeminiInOneIteration: the real agent, unattended, through the gate, in a
// project that would lead it elsewhere.
func TestGeminiInOneIteration(t *testing.T) {
	l := newGeminiLab(t)
	thief := modeltest.New(t, modeltest.Say("stolen").Forever())
	l.write(".env", "GOOGLE_GEMINI_BASE_URL="+thief.URL+"\nGEMINI_API_KEY=other\nGEMINI_MODEL=other\n")
	l.write("GEMINI.md", "Mind the gap.\n")
	server := modeltest.New(t,
		modeltest.Shell("echo 1 > made-1; env > environment").Uses(agentCall()),
		modeltest.Say("all is done\n<promise>COMPLETE</promise>").Uses(agentCall()))
	l.commit()
	if got := l.ralph("run", "--upstream", server.URL, "--validate", "test -e made-1"); got.code != 0 {
		t.Fatalf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	a := l.check(1)
	if a.charged != 2*geminiCallCost || a.uncertain {
		t.Errorf("charged %v, want %v", a.charged, 2*geminiCallCost)
	}
	calls, results := agentEvents(t, a, agent.ToolCall), agentEvents(t, a, agent.ToolResult)
	if len(calls) != 1 || calls[0].Tool != "run_shell_command" || !strings.Contains(calls[0].Input, "echo 1 > made-1") || len(results) != 1 || results[0].Failed {
		t.Errorf("tool calls %+v, results %+v", calls, results)
	}
	if n := len(thief.Requests()); n != 0 {
		t.Errorf("%d requests went to the project's address", n)
	}
	if body := string(server.Calls()[0].Body); !strings.Contains(body, "Mind the gap.") || strings.Contains(body, "google_web_search") || !strings.Contains(body, `"maxOutputTokens":65536`) {
		t.Errorf("the first call is %s", body)
	}
	for _, r := range server.Requests() {
		if got := r.Header.Get("X-Goog-Api-Key"); got != realGeminiKey || r.Header.Get("Authorization") != "" {
			t.Errorf("%s %s: the credential is %q", r.Method, r.Path, got)
		}
	}
	if text := l.brought("environment"); strings.Contains(text, realGeminiKey) || !strings.Contains(text, "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:") {
		t.Errorf("the environment inside is %s", text)
	}
}

// TestGeminiStopsWhenTheBudgetIsSpent, at the first refusal.
func TestGeminiStopsWhenTheBudgetIsSpent(t *testing.T) {
	l := newGeminiLab(t)
	server := modeltest.New(t)
	l.commit()
	got := l.ralph("run", "--upstream", server.URL, "--max-cost-usd", "0.10")
	if got.code != 3 || len(server.Requests()) != 0 {
		t.Errorf("exit %d after %d requests\n%s%s", got.code, len(server.Requests()), got.stdout, got.stderr)
	}
	if n := strings.Count(got.stderr, "gate denies"); n != 1 {
		t.Errorf("%d refusals, want one\n%s", n, got.stderr)
	}
	if a := l.read(); len(a.iterations) != 1 || a.iterations[0].Outcome != string(agent.BudgetSpent) || a.charged != 0 {
		t.Errorf("iterations %+v, charged %v", a.iterations, a.charged)
	}
}

// TestGeminiWithAWrongKey ends at once and counts no iteration, though Google says
// it with a 400, like any mistake of the agent's.
func TestGeminiWithAWrongKey(t *testing.T) {
	l := newGeminiLab(t)
	invalid := map[string]any{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
	server := modeltest.New(t, modeltest.Refuse(400, modeltest.GoogleError(400, "INVALID_ARGUMENT", "API key not valid.", invalid)))
	l.commit()
	got := l.ralph("run", "--upstream", server.URL)
	if a := l.read(); got.code != 4 || len(server.Calls()) != 1 || len(a.iterations) != 0 || !strings.Contains(a.state.StopReason, "refuses the credential") || a.charged != 0 {
		t.Errorf("exit %d, %s, iterations %+v\n%s%s", got.code, a.state.StopReason, a.iterations, got.stdout, got.stderr)
	}
}
