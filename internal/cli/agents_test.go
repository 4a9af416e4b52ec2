//go:build linux

package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/modeltest"
)

// The credentials of the user in these tests. They are made up, in the form of
// real ones.
const (
	realSetupToken = "sk-ant-oat01-REALTOKEN-OF-THE-USER-0123456789abcdefghijklmnopqrstuvwxyz-AA"
	realOpenAIKey  = "sk-proj-REALTOKEN-OF-THE-USER-0123456789abcdefghijklmnopqrstuvwxyz"
)

// searchForToken looks for the real credential everywhere inside: environments
// and command lines of all processes, and all files that are not the system's. Neither the pattern nor the words that tell match
// themselves, for this text is in the conversation.
const searchForToken = `
pattern='REALTOKE[N]-OF-THE-USER'
found() { echo "LEAK""ED in $1"; }
env | grep -q "$pattern" && found env
for p in /proc/[0-9]*; do
  for f in environ cmdline; do tr '\0' '\n' <$p/$f 2>/dev/null | grep -q "$pattern" && found $p/$f; done
done
find / \( -path /proc -o -path /sys -o -path /dev -o -path /usr -o -path /opt/agents \) -prune -o -type f -size -20000k -print0 2>/dev/null |
  xargs -0 grep -als "$pattern" 2>/dev/null | while read -r f; do found "$f"; done
echo SEARCH-WAS-DONE-$((40 + 2))
`

// realAgent is how one of them is run.
type realAgent struct {
	name, credential string
	header, value    string // how the upstream must get the credential
	command          []string
}

func realAgents() []realAgent {
	return []realAgent{
		{
			"claude", realSetupToken, "Authorization", "Bearer " + realSetupToken,
			[]string{
				"/opt/agents/bin/claude", "-p", "do it", "--model", "claude-sonnet-4-5",
				"--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions",
			},
		},
		{
			"codex", realOpenAIKey, "Authorization", "Bearer " + realOpenAIKey,
			[]string{"sh", "-c", `exec /opt/agents/bin/codex exec --json --dangerously-bypass-approvals-and-sandbox --skip-git-repo-check --model gpt-6.1-sol \
-c features.plugins=false -c analytics.enabled=false -c check_for_update_on_startup=false -c model_provider=ralph \
-c "model_providers.ralph={name=\"ralph\",base_url=\"$OPENAI_BASE_URL\",env_key=\"CODEX_API_KEY\",wire_api=\"responses\",request_max_retries=0,stream_max_retries=0}" "do it" </dev/null`},
		},
	}
}

// runAgent runs a real agent in a real sandbox against a scripted upstream, and
// returns what it printed, its exit code and the events of the gate.
func runAgent(t *testing.T, a realAgent, server *modeltest.Server, flags ...string) (out string, code int, events []gate.Event) {
	t.Helper()
	folder := filepath.Dir(filepath.Dir(modeltest.Agent(t, a.name)))
	log := filepath.Join(t.TempDir(), "events.jsonl")
	args := append([]string{"exec", "--agent", a.name, "--upstream", server.URL, "--events", log, "--mount", folder + ":/opt/agents:ro"}, flags...)
	cmd, _ := ralph(t, append(append(args, "--"), a.command...)...)
	cmd.Env = append(cmd.Env, "RALPH_AGENT_CREDENTIAL=env:USERS_TOKEN", "USERS_TOKEN="+a.credential)
	printed, err := cmd.CombinedOutput()
	return string(printed), exitCode(t, err), readEvents(t, log)
}

func readEvents(t *testing.T, path string) (events []gate.Event) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var e gate.Event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		events = append(events, e)
	}
	return events
}

// TestRealAgentsHoldOnlyAPhantom: the upstream gets the real credential, the
// sandbox never has it, and the gate knows what was spent.
func TestRealAgentsHoldOnlyAPhantom(t *testing.T) {
	for _, a := range realAgents() {
		t.Run(a.name, func(t *testing.T) {
			server := modeltest.New(t,
				modeltest.Shell(searchForToken).Uses(modeltest.Usage{Input: 1000, Output: 50}),
				modeltest.Say("the work is done").Uses(modeltest.Usage{Input: 1200, CacheRead: 500, Output: 20}))
			out, code, events := runAgent(t, a, server, "--max-cost-usd", "5")
			if code != 0 || !strings.Contains(out, "the work is done") || server.Left() != 0 {
				t.Fatalf("exit %d, %d turns left\n%s", code, server.Left(), out)
			}
			calls := server.Calls()
			for _, r := range server.Requests() {
				if r.Method == "POST" && r.Header.Get(a.header) != a.value {
					t.Errorf("%s %s came with %v", r.Method, r.Path, r.Header)
				}
			}
			if last := string(calls[len(calls)-1].Body); !strings.Contains(last, "SEARCH-WAS-DONE-42") || strings.Contains(last, "LEAKED in ") {
				t.Errorf("the search found the credential, or was not made: %.3000s", last)
			}
			if strings.Contains(out, "REALTOKEN") {
				t.Error("the credential was printed")
			}
			checkBill(t, events, len(calls))
		})
	}
}

func checkBill(t *testing.T, events []gate.Event, calls int) {
	t.Helper()
	paid := 0
	for _, e := range events {
		if e.Charge == nil {
			continue
		}
		paid++
		if e.Charge.Uncertain || e.Charge.Cost == 0 || e.Charge.Cost > e.Charge.Reserved || e.Credential == "" || e.Charge.Output == 0 {
			t.Errorf("charge %+v", e.Charge)
		}
	}
	if paid != calls {
		t.Errorf("%d paid calls in the events, %d at the upstream", paid, calls)
	}
}

// TestRealAgentsStopWhenTheBudgetIsSpent: the refusal is final to them, and the
// reason reaches the user.
func TestRealAgentsStopWhenTheBudgetIsSpent(t *testing.T) {
	for _, a := range realAgents() {
		t.Run(a.name, func(t *testing.T) {
			server := modeltest.New(t)
			out, code, events := runAgent(t, a, server, "--max-cost-usd", "0.01")
			if code == 0 || !strings.Contains(out, "budget of $0.01 has no room") || len(server.Calls()) != 0 {
				t.Errorf("exit %d, %d calls upstream\n%s", code, len(server.Calls()), out)
			}
			refused := 0
			for _, e := range events {
				if e.Code == "budget_spent" {
					refused++
				}
			}
			if refused != 1 {
				t.Errorf("%d refusals, want one: the agent tries again", refused)
			}
		})
	}
}

// TestTheSearchFindsAToken: a search that finds nothing proves something only if
// it would.
func TestTheSearchFindsAToken(t *testing.T) {
	cmd, _ := ralph(t, "exec", "--env", "GIVEN="+realSetupToken, "--", "sh", "-c", `echo "$GIVEN" >/tmp/kept; sh -c 'sleep 60; :' "$GIVEN" & `+searchForToken)
	out, err := cmd.CombinedOutput()
	if code := exitCode(t, err); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	for _, where := range []string{"env", "/environ", "/cmdline", "/tmp/kept"} {
		if !bytes.Contains(out, []byte(where+"\n")) {
			t.Errorf("not found in %s:\n%s", where, out)
		}
	}
}

// TestRecordAndReplay: what was recorded with the provider runs again without
// it and without a credential, and no secret is on the tape, not even the phantom,
// which the agent shows its model and which is another one in the replay.
func TestRecordAndReplay(t *testing.T) {
	for _, a := range realAgents() {
		t.Run(a.name, func(t *testing.T) {
			tape := filepath.Join(t.TempDir(), "tape.jsonl")
			server := modeltest.New(t, modeltest.Shell("echo made-by-the-$((40+2)); cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -E '^(CLAUDE_CODE_OAUTH_TOKEN|CODEX_API_KEY)=' | sort -u"), modeltest.Say("the work is done"))
			work := t.TempDir()
			if out, code, _ := runAgent(t, a, server, "--record", tape, "-w", work); code != 0 {
				t.Fatalf("exit %d\n%s", code, out)
			}
			recorded, err := os.ReadFile(tape)
			if err != nil || bytes.Contains(recorded, []byte("REALTOKEN")) || !bytes.Contains(recorded, []byte("=[redacted:")) || !bytes.Contains(recorded, []byte("made-by-the-42")) {
				t.Fatalf("%v: the tape holds the credential, or not the traffic: %.2000s", err, recorded)
			}
			a.credential = ""
			nobody := modeltest.New(t)
			out, code, events := runAgent(t, a, nobody, "--replay", tape, "-w", work)
			if code != 0 || !strings.Contains(out, "the work is done") || len(nobody.Requests()) != 0 || strings.Contains(out, "replay:") {
				t.Errorf("exit %d, %d requests upstream\n%s", code, len(nobody.Requests()), out)
			}
			if len(events) == 0 {
				t.Error("no events of the replay")
			}
		})
	}
}
