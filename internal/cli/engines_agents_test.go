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

// TestEnginesWithRealAgents: they work also where they get no unix sockets, which is
// in place, where a socket of the host's could be in the project.
func TestEnginesWithRealAgents(t *testing.T) {
	for _, test := range []struct {
		engine, agent, token string
		cost                 money.USD
	}{
		{"docker", "claude", realSetupToken, claudeCallCost},
		{"bubblewrap", "codex", realOpenAIKey, codexCallCost},
	} {
		t.Run(test.agent+" in "+test.engine, func(t *testing.T) {
			program := modeltest.Agent(t, test.agent)
			l := newEngineLab(t, test.engine, "[agent]\nname = \""+test.agent+"\"\n")
			l.env = append(l.env, "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"), "USERS_TOKEN="+test.token)
			l.commit()
			server := modeltest.New(t,
				modeltest.Shell("echo 1 >made-1; python3 -c 'import socket; socket.socket(socket.AF_UNIX)' 2>&1 | tail -n 1 >sockets").Uses(agentCall()),
				modeltest.Say("all is done\n<promise>COMPLETE</promise>").Uses(agentCall()))
			l.wants(0, "run", "--upstream", server.URL, "--validate", "test -e made-1", "--work", "in-place")
			a := l.check(1)
			if a.charged != 2*test.cost || a.uncertain {
				t.Errorf("charged %v, want %v", a.charged, 2*test.cost)
			}
			if calls := agentEvents(t, a, agent.ToolCall); len(calls) != 1 || !strings.Contains(calls[0].Input, "echo 1 >made-1") {
				t.Errorf("tool calls %+v", calls)
			}
			if sockets := l.brought("sockets"); !strings.Contains(sockets, "not permitted") && !strings.Contains(sockets, "denied") && !strings.Contains(sockets, "not supported") {
				t.Errorf("unix sockets: %q", sockets)
			}
			for _, r := range server.Calls() {
				if got := r.Header.Get("Authorization"); got != "Bearer "+test.token {
					t.Errorf("the credential is %q", got)
				}
			}
		})
	}
}
