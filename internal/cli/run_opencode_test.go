//go:build linux

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/agent"
	"github.com/agent-loop/ralph/internal/modeltest"
)

const realOpencodeKey = "sk-ant-api03-REAL-KEY-OF-THE-USER-0123456789"

// TestOpencodeInOneIteration: the real agent, unattended, through the gate, and
// without the catalogue of models that it would load.
func TestOpencodeInOneIteration(t *testing.T) {
	l := newAgentLab(t, "opencode")
	l.env = append(l.env, "USERS_TOKEN="+realOpencodeKey)
	must(t, os.Remove(filepath.Join(l.project, "prd.json")))
	server := modeltest.New(t,
		modeltest.Shell("echo 1 > made-1; env > environment").Uses(agentCall()),
		modeltest.Say("all is done\n<promise>COMPLETE</promise>").Uses(agentCall()))
	if got := l.ralph("run", "--upstream", server.URL, "--validate", "test -e made-1"); got.code != 0 {
		t.Fatalf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	a := l.check(1)
	if a.charged != 2*claudeCallCost || a.uncertain {
		t.Errorf("charged %v, want %v", a.charged, 2*claudeCallCost)
	}
	calls, results := agentEvents(t, a, agent.ToolCall), agentEvents(t, a, agent.ToolResult)
	if len(calls) != 1 || calls[0].Tool != "bash" || !strings.Contains(calls[0].Input, "echo 1 > made-1") || len(results) != 1 || results[0].Failed {
		t.Errorf("tool calls %+v, results %+v", calls, results)
	}
}
