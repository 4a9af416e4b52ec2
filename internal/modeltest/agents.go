package modeltest

import (
	"os"
	"path/filepath"
	"testing"
)

// Agent finds a real agent that scripts/agents.sh installed in the folder that
// RALPH_AGENTS names. Without it the test is skipped, or fails where
// RALPH_TEST_NO_SKIP is set: an agent that is not tested is not known to work.
func Agent(t testing.TB, name string) string {
	t.Helper()
	if folder := os.Getenv("RALPH_AGENTS"); folder != "" {
		program := filepath.Join(folder, "bin", name)
		_, err := os.Stat(program)
		if err == nil && filepath.IsAbs(program) {
			return program
		}
		t.Fatalf("RALPH_AGENTS must be the absolute path of a folder with %s: %v", name, err)
	}
	const reason = "RALPH_AGENTS is not set; run scripts/agents.sh"
	if os.Getenv("RALPH_TEST_NO_SKIP") != "" {
		t.Fatalf("agents must not be skipped here: %s", reason)
	}
	t.Skip(reason)
	return ""
}
