package project_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/project"
)

func nothing(string) string { return "" }

// What is written for a project is what the configuration then reads, and the
// gate knows its rules.
func TestConfigTextIsAccepted(t *testing.T) {
	for _, agent := range []string{"claude", "codex", "opencode", "gemini", "mini", "command"} {
		for _, marker := range []string{"go.mod", "Cargo.toml", "package.json", "yarn.lock", "requirements.txt", "pom.xml", "build.gradle", "Gemfile", "composer.json", "deno.json", "CMakeLists.txt", "README"} {
			t.Run(agent+" "+marker, func(t *testing.T) {
				dir := t.TempDir()
				write(t, dir, marker, `{"scripts":{"test":"x"}}`)
				p, err := project.Look(dir)
				if err != nil {
					t.Fatal(err)
				}
				write(t, dir, config.ProjectFile, p.ConfigText(agent, []string{"PROMPT.md"}))
				check(t, dir, agent, p)
			})
		}
	}
}

func check(t *testing.T, dir, agent string, p project.Project) {
	t.Helper()
	cfg, notes, err := config.Read(dir, nothing, nil)
	if err != nil || len(notes) > 0 {
		t.Fatalf("config.Read: %v, notes %q", err, notes)
	}
	if cfg.Agent.Name != agent || cfg.Validation.Command != p.Validation() || !slices.Equal(cfg.Sandbox.Protect, []string{"PROMPT.md"}) {
		t.Errorf("config.Read = %+v", cfg)
	}
	if len(p.Allow()) > 0 && !slices.Equal(cfg.Sandbox.Network.Allowed, p.Allow()) {
		t.Errorf("allowed = %q, want %q", cfg.Sandbox.Network.Allowed, p.Allow())
	}
	if _, err := gate.NewPolicy(gate.ModeAllowlist, cfg.Sandbox.Network.Allowed, nil); err != nil {
		t.Errorf("the gate refuses it: %v", err)
	}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
