//go:build linux

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/rundir"
)

// TestForgedRunsAreNotResumed: a folder that looks like a run, which came with a
// repository or was made by an agent, must not decide what runs on the host.
func TestForgedRunsAreNotResumed(t *testing.T) {
	for _, root := range []string{".ralph/runs", "runs"} {
		t.Run(root, func(t *testing.T) {
			cmd, _ := ralph(t, "resume", "forged", "--max-cost-usd", "1")
			mark := filepath.Join(t.TempDir(), "ran-on-the-host")
			forgeRun(t, cmd.Dir, filepath.Join(cmd.Dir, root), mark)
			out, err := cmd.CombinedOutput()
			if code := exitCode(t, err); code != 2 || !strings.Contains(string(out), "was not started by you on this machine") {
				t.Errorf("exit %d\n%s", code, out)
			}
			if _, err := os.Stat(mark); err == nil {
				t.Error("the forged run ran a command on the host")
			}

			trusted, _ := ralph(t, "resume", "forged", "--trust")
			trusted.Dir, trusted.Env = cmd.Dir, cmd.Env
			out, err = trusted.CombinedOutput()
			if code := exitCode(t, err); strings.Contains(string(out), "was not started by you") {
				t.Errorf("exit %d, although it is trusted\n%s", code, out)
			}
			if _, err := os.Stat(mark); err != nil {
				t.Error("the test proves nothing: the run would not have run the command")
			}
		})
	}
}

// forgeRun makes a run whose credential is a command of the host.
func forgeRun(t *testing.T, project, root, mark string) {
	t.Helper()
	cfg := config.Defaults()
	cfg.Agent.Name, cfg.Agent.Credential = "mini", "command:touch "+mark
	spec := map[string]any{"version": 1, "ralph": "x", "project": project, "settings": cfg.Settings()}
	run, err := rundir.Create(root, "forged", spec, rundir.Options{})
	if err == nil {
		err = run.SaveState(rundir.State{Status: rundir.Limit, StopReason: "x", Agent: "mini", Engine: "gvisor"})
	}
	if err == nil {
		err = run.Close()
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(project, "PROMPT.md"), []byte("do it"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
