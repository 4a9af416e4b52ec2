package agent

import (
	"slices"
	"strings"
	"testing"
)

// TestOpencodeStandsAlone: nothing is loaded at its start, the project has no say
// in where its traffic goes, and its instructions are read all the same.
func TestOpencodeStandsAlone(t *testing.T) {
	command := invocation(t, "opencode", sample())
	for _, want := range []string{
		"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
		"OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_DISABLE_PROJECT_CONFIG=1",
	} {
		if !slices.Contains(command.Env, want) {
			t.Errorf("no %s in %q", want, command.Env)
		}
	}
	if !follows(command.Argv, []string{"run", "--pure", "--title", "ralph"}) {
		t.Errorf("arguments %q", command.Argv)
	}
	config := command.Env[slices.IndexFunc(command.Env, func(e string) bool { return strings.HasPrefix(e, "OPENCODE_CONFIG_CONTENT=") })]
	for _, want := range []string{`"/proc/self/cwd/AGENTS.md"`, `"baseURL":"` + sample().BaseURL + `/v1"`, `"small_model":"anthropic/`} {
		if !strings.Contains(config, want) {
			t.Errorf("no %s in %s", want, config)
		}
	}
}
