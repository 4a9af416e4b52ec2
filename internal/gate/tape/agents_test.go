package tape_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/agent-loop/ralph/internal/gate/tape"
	"github.com/agent-loop/ralph/internal/modeltest"
)

// proxy is a gate in small: it sends everything to the upstream by transport.
func proxy(t *testing.T, upstream string, transport http.RoundTripper) string {
	t.Helper()
	target, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Transport: transport,
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Header.Del("Accept-Encoding") },
	})
	t.Cleanup(server.Close)
	return server.URL
}

// startClaude runs claude against a base URL.
func startClaude(t *testing.T, folder, base string) string {
	return start(t, folder, []string{
		"ANTHROPIC_BASE_URL=" + base, "ANTHROPIC_API_KEY=phantom",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "IS_SANDBOX=1",
	}, modeltest.Agent(t, "claude"), "-p", "do it", "--model", "claude-sonnet-5", "--dangerously-skip-permissions")
}

func startCodex(t *testing.T, folder, base string) string {
	return start(t, folder, []string{"CODEX_API_KEY=phantom"}, modeltest.Agent(t, "codex"),
		"exec", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check",
		"-c", "features.plugins=false", "-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false",
		"-c", `openai_base_url="`+base+`/v1"`, "do it")
}

// start runs an agent with an empty home and an empty project at the same paths
// each time, as a sandbox has them.
func start(t *testing.T, folder string, environment []string, program string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	home, project := filepath.Join(folder, "home"), filepath.Join(folder, "project")
	for _, dir := range []string{home, project} {
		if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	command.Dir = project
	command.Env = append(environment, "HOME="+home, "PATH="+os.Getenv("PATH"), "TERM=dumb")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Errorf("%s: %v\n%s\n%s", filepath.Base(program), err, out, stderr.Bytes())
	}
	return string(out)
}

// A real agent that is run again gets its recorded answers: what changes from
// one run to the next is known.
func TestRealAgentsReplay(t *testing.T) {
	for name, start := range map[string]func(t *testing.T, folder, base string) string{"claude": startClaude, "codex": startCodex} {
		t.Run(name, func(t *testing.T) {
			model := modeltest.New(t, modeltest.Shell("echo $((40+2))"), modeltest.Say("the work is done"))
			folder := t.TempDir()
			path := filepath.Join(folder, "tape.jsonl")
			recorder, err := tape.Create(path, http.DefaultTransport, nil)
			if err != nil {
				t.Fatal(err)
			}
			recorded := start(t, folder, proxy(t, model.URL, recorder))
			if err := recorder.Close(); err != nil {
				t.Fatal(err)
			}
			player, err := tape.Open(path, tape.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer player.Close()
			replayed := start(t, folder, proxy(t, model.URL, player))
			for _, mismatch := range player.Mismatches() {
				t.Error(mismatch)
			}
			if !player.Done() || replayed != recorded {
				t.Errorf("done: %t\nrecorded: %s\nreplayed: %s", player.Done(), recorded, replayed)
			}
		})
	}
}
