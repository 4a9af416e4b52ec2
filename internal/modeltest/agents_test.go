package modeltest_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/modeltest"
)

// outcome is what a run of a real agent came to.
type outcome struct {
	exit           int
	stdout, stderr string
}

// run runs an agent in an empty home and an empty project, with nothing of the
// environment but the path.
func run(t *testing.T, environment []string, program string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	command.Dir = t.TempDir()
	command.Env = append([]string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TERM=dumb"}, environment...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	command.WaitDelay = time.Second // what an agent leaves behind may hold the pipes
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Errorf("%s did not end\n%s", filepath.Base(program), stdout.String())
	}
	return outcome{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func claude(t *testing.T, server *modeltest.Server) outcome {
	t.Helper()
	return run(t, []string{
		"ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=phantom",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "IS_SANDBOX=1",
	}, modeltest.Agent(t, "claude"), "-p", "do it", "--model", "claude-sonnet-5",
		"--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions")
}

// codex runs codex with options, silent towards everybody but the model.
func codex(t *testing.T, options ...string) outcome {
	t.Helper()
	args := append([]string{"exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check",
		"-c", "features.plugins=false", "-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false"}, options...)
	return run(t, []string{"CODEX_API_KEY=phantom", "RALPH_KEY=phantom"}, modeltest.Agent(t, "codex"), append(args, "do it")...)
}

// codexBuiltIn is codex with the provider that it brings along, and a model
// that it knows: it offers its tools in JavaScript.
func codexBuiltIn(t *testing.T, server *modeltest.Server) outcome {
	t.Helper()
	return codex(t, "-c", `openai_base_url="`+server.OpenAI()+`"`)
}

// codexUnknownModel offers its tools one by one.
func codexUnknownModel(t *testing.T, server *modeltest.Server) outcome {
	t.Helper()
	return codex(t, "-c", `openai_base_url="`+server.OpenAI()+`"`, "--model", "test-model")
}

// codexNoRetries has a provider of its own, the only kind whose retries can be
// set.
func codexNoRetries(t *testing.T, server *modeltest.Server) outcome {
	t.Helper()
	return codex(t, "--model", "gpt-6.1-sol", "-c", `model_provider="ralph"`, "-c",
		`model_providers.ralph={name="ralph",base_url="`+server.OpenAI()+`",env_key="RALPH_KEY",wire_api="responses",request_max_retries=0,stream_max_retries=0}`)
}

var agents = []struct {
	name  string
	start func(*testing.T, *modeltest.Server) outcome
}{
	{"claude", claude},
	{"codex, built-in provider", codexBuiltIn},
	{"codex, unknown model", codexUnknownModel},
	{"codex, no retries", codexNoRetries},
}

func TestRealAgentsTakeTurns(t *testing.T) {
	for _, agent := range agents {
		t.Run(agent.name+" says a text", func(t *testing.T) {
			server := modeltest.New(t, modeltest.Say("the work is done"))
			got := agent.start(t, server)
			if got.exit != 0 || !strings.Contains(got.stdout, "the work is done") {
				t.Errorf("exit %d\n%s\n%s", got.exit, got.stdout, got.stderr)
			}
		})
		t.Run(agent.name+" runs a command", func(t *testing.T) {
			server := modeltest.New(t, modeltest.Shell("echo made-by-the-$((40+2))"), modeltest.Say("the work is done"))
			got := agent.start(t, server)
			if got.exit != 0 || server.Left() != 0 {
				t.Fatalf("exit %d, %d turns left\n%s\n%s", got.exit, server.Left(), got.stdout, got.stderr)
			}
			if calls := server.Calls(); !bytes.Contains(calls[1].Body, []byte("made-by-the-42")) {
				t.Errorf("the second call does not bring the command's output: %.2000s", calls[1].Body)
			}
		})
	}
}

// What a gate may answer when money is spent, so that the agent stops at once
// and shows the reason. codex gives up at once on a 400 alone, unless its
// retries are set to none.
func TestRealAgentsGiveUp(t *testing.T) {
	const reason = "the budget of this run is spent: $5.00 of $5.00"
	openAI := modeltest.OpenAIError("insufficient_quota", "insufficient_quota", reason)
	for _, test := range []struct {
		name  string
		start func(*testing.T, *modeltest.Server) outcome
		turn  modeltest.Turn
	}{
		{"claude, 403", claude, modeltest.Refuse(403, modeltest.AnthropicError("permission_error", reason), "X-Should-Retry", "false")},
		{"claude, 402", claude, modeltest.Refuse(402, modeltest.AnthropicError("billing_error", reason), "X-Should-Retry", "false")},
		{"codex, no retries, 403", codexNoRetries, modeltest.Refuse(403, openAI)},
		{"codex, built-in provider, 400", codexBuiltIn, modeltest.Refuse(400, openAI)},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := modeltest.New(t, test.turn.Forever())
			got := test.start(t, server)
			if calls := len(server.Calls()); got.exit != 1 || calls != 1 {
				t.Errorf("exit %d after %d calls", got.exit, calls)
			}
			if !strings.Contains(got.stdout, reason) {
				t.Errorf("the reason is not shown:\n%s", got.stdout)
			}
		})
	}
}

// A stream that breaks is tried again by agents that have retries.
func TestRealAgentsRecover(t *testing.T) {
	for _, agent := range agents[:3] {
		t.Run(agent.name, func(t *testing.T) {
			server := modeltest.New(t, modeltest.Say("half of it").Dropped(), modeltest.Say("the work is done"))
			got := agent.start(t, server)
			if got.exit != 0 || server.Left() != 0 || !strings.Contains(got.stdout, "the work is done") {
				t.Errorf("exit %d\n%s\n%s", got.exit, got.stdout, got.stderr)
			}
		})
	}
}

// What an agent says that it used is what the model said.
func TestRealAgentsReportUsage(t *testing.T) {
	usage := modeltest.Usage{Input: 1111, CacheRead: 222, CacheWrite: 33, Output: 44}
	for _, test := range []struct {
		name  string
		start func(*testing.T, *modeltest.Server) outcome
		want  []string
	}{
		{"claude", claude, []string{`"inputTokens":1111`, `"cacheReadInputTokens":222`, `"cacheCreationInputTokens":33`, `"outputTokens":44`}},
		{"codex", codexBuiltIn, []string{`"input_tokens":1366`, `"cached_input_tokens":222`, `"cache_write_input_tokens":33`, `"output_tokens":44`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := test.start(t, modeltest.New(t, modeltest.Say("done").Uses(usage)))
			for _, want := range test.want {
				if !strings.Contains(got.stdout, want) {
					t.Errorf("no %s in\n%s", want, got.stdout)
				}
			}
		})
	}
}
