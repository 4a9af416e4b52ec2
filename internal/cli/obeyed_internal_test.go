//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/git"
)

// TestWhatTheHostObeys: by name in every folder and in any case, and what a
// configuration of git's names.
func TestWhatTheHostObeys(t *testing.T) {
	home := t.TempDir()
	project := filepath.Join(home, "project")
	if out, err := exec.CommandContext(t.Context(), "sh", "-ec", `git init -q "$1" && cd "$1" && mkdir -p app &&
git config core.hooksPath tools/hooks && git config include.path ../own.config`, "sh", project).CombinedOutput(); err != nil {
		t.Skipf("git: %v\n%s", err, out)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[core]\n\thooksPath = everywhere\n[include]\n\tpath = "+project+"/abs.config\n"), 0o600))
	program, err := git.Find()
	must(err)
	repo, err := git.Open(t.Context(), program, filepath.Join(project, "app"))
	must(err)
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	cfg := config.Config{Sandbox: config.Sandbox{Protect: []string{"scripts/deploy"}}}
	obeys, err := World{Getenv: getenv}.hostObeys(t.Context(), cfg, repo)
	must(err)
	for path, want := range map[string]bool{
		"README": false, ".vscode/tasks.json": true, "deep/down/.vscode/tasks.json": true, ".VSCode/x": true, ".envrc": true, ".EnvRC": true,
		".vscode /x": true, ".github/workflows/x.yml": true, "github/x": false, "ralph.toml": true, "app/ralph.toml": true, ".gitattributes": true,
		"tools/hooks/pre-commit": true, "Tools/Hooks/pre-commit": true, "tools/hook": false, "everywhere/x": true, "own.config": true, "abs.config": true,
		"app/scripts/deploy": true, "app/scripts/deploy/x": true, "scripts/deploy": false, "app/scripts/deployed": false,
	} {
		if obeys(path) != want {
			t.Errorf("%s: %t, want %t", path, !want, want)
		}
	}
}
