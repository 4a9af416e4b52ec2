package agent

import (
	"slices"
	"strings"
	"testing"
)

func TestFindNamesWhatThereIs(t *testing.T) {
	for _, name := range Names() {
		if a, err := Find(name); err != nil || a.Name != name || a.Provider == "" || a.Token == "" {
			t.Errorf("Find(%q) = %+v, %v", name, a, err)
		}
	}
	if _, err := Find("hal"); err == nil || !strings.Contains(err.Error(), "claude, codex") {
		t.Errorf("Find of an unknown agent: %v", err)
	}
}

// TestClaudeHoldsOnePhantom: with two credentials Claude Code would choose, and
// the wrong header would go out.
func TestClaudeHoldsOnePhantom(t *testing.T) {
	claude, _ := Find("claude")
	for kind, want := range map[Kind]string{
		APIKey: "ANTHROPIC_API_KEY=phantom",
		OAuth:  "CLAUDE_CODE_OAUTH_TOKEN=phantom",
		Bearer: "ANTHROPIC_AUTH_TOKEN=phantom",
	} {
		env := claude.Env(Access{BaseURL: "http://gate/anthropic", Phantom: "phantom", Kind: kind})
		if !slices.Contains(env, want) || strings.Count(strings.Join(env, "\n"), "phantom") != 1 {
			t.Errorf("%s: %q, want %q once", kind, env, want)
		}
		if !slices.Contains(env, "ANTHROPIC_BASE_URL=http://gate/anthropic") || !slices.Contains(env, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1") {
			t.Errorf("%s: %q", kind, env)
		}
	}
}
