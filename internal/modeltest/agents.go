package modeltest

import (
	"os"
	"path/filepath"
	"testing"
)

// Agent finds a real agent that scripts/agents.sh installed in the folder that
// RALPH_AGENTS names. Without it the test is skipped, or fails where
// RALPH_TEST_NO_SKIP is set: an agent that is not tested is not known to work. The
// same goes for one that is not there, for not all are pinned for every machine.
func Agent(t testing.TB, name string) string {
	t.Helper()
	reason := "RALPH_AGENTS is not set; run scripts/agents.sh"
	if folder := os.Getenv("RALPH_AGENTS"); folder != "" {
		programs := filepath.Join(folder, "bin")
		if _, err := os.Stat(programs); err != nil || !filepath.IsAbs(programs) {
			t.Fatalf("RALPH_AGENTS must be the absolute path of a folder with agents: %v", err)
		}
		program := filepath.Join(programs, name)
		if _, err := os.Stat(program); err == nil {
			return program
		}
		reason = name + " is not in RALPH_AGENTS; run scripts/agents.sh " + name
	}
	if os.Getenv("RALPH_TEST_NO_SKIP") != "" {
		t.Fatalf("agents must not be skipped here: %s", reason)
	}
	t.Skip(reason)
	return ""
}
