//go:build linux

package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/gate/meter"
	"github.com/agent-loop/ralph/internal/modeltest"
)

// oneCall is a model call as the command inside sends it.
const oneCall = `{"model":"claude-sonnet-4-5","max_tokens":1000,"messages":[{"role":"user","content":"hello"}]}`

// fiftyCalls sends them all at once and counts the answers.
const fiftyCalls = `for i in $(seq 50); do
curl -s -o /dev/null -w "%{http_code}\n" -H "x-api-key: $ANTHROPIC_API_KEY" -H "content-type: application/json" -d '` + oneCall + `' "$ANTHROPIC_BASE_URL/v1/messages" &
done; wait`

// TestBudgetOutlivesAKill: fifty calls at once race a budget for seven, ralph is
// killed with the seven under way, and nobody gets an eighth: what they cost is
// not known, so it counts in full.
func TestBudgetOutlivesAKill(t *testing.T) {
	const affordable = 7
	call, err := meter.ReadCall(meter.Anthropic, http.Header{"Content-Type": {"application/json"}}, []byte(oneCall))
	if err != nil {
		t.Fatal(err)
	}
	prices, err := meter.NewPrices()
	if err != nil {
		t.Fatal(err)
	}
	price, _ := prices.Find(call.Model)
	limit := price.Worst(call).Times(affordable)
	server := modeltest.New(t, modeltest.Say("never").Stalled().Forever())
	cmd, state := ralph(t, "exec", "--agent", "claude", "--upstream", server.URL, "--budget", "shared", "--max-cost-usd", strings.TrimPrefix(limit.String(), "$"), "--", "sh", "-c", fiftyCalls)
	cmd.Env = append(cmd.Env, "RALPH_AGENT_CREDENTIAL=env:KEY", "KEY=sk-ant-api03-made-up-0123456789abcdefghijklmnopqrstuvwxyz")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	server.Await(affordable)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()

	again, _ := ralph(t, cmd.Args[1:]...)
	again.Env = append(cmd.Env, "RALPH_STATE_DIR="+state)
	out, err := again.CombinedOutput()
	if code := exitCode(t, err); code != 0 || strings.Count(string(out), "403\n") != 50 {
		t.Errorf("exit %d: not all of the calls after the kill were refused\n%s", code, out)
	}
	if made := len(server.Calls()); made != affordable {
		t.Errorf("%d calls were made, want %d", made, affordable)
	}
	checkBudget(t, state, limit.Dollars())
}

// checkBudget reads the shared budget as a user would.
func checkBudget(t *testing.T, state string, uncertain float64) {
	t.Helper()
	list, _ := ralph(t, "budget", "ls", "--json")
	list.Env = append(list.Env, "RALPH_STATE_DIR="+state)
	out, err := list.Output()
	var rows []struct {
		Name      string
		Uncertain float64 `json:"uncertain_usd"`
		Spent     float64 `json:"spent_usd"`
		Held      float64 `json:"held_usd"`
	}
	if err != nil || json.Unmarshal(out, &rows) != nil || len(rows) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	if got := rows[0]; fmt.Sprint(got.Uncertain) != fmt.Sprint(uncertain) || got.Spent != 0 || got.Held != 0 {
		t.Errorf("the budget shows %+v, want %v uncertain", got, uncertain)
	}
}
