package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

// full holds every key, as the documentation shows them.
const full = `[agent]
name = "claude"                    # claude | codex | opencode | gemini | mini | command
model = "claude-sonnet-5"
command = ["sh", "-c", "..."]      # for name = "command"; the prompt is on stdin
upstream = "https://api.anthropic.com"   # where the gate sends model calls
credential = ""                    # env:NAME | file:PATH | command:ARGV | store:NAME
provider_fetch = false

[execution]
mode = "container"                 # host | container
use_bypass_permissions = true

[sandbox]
enabled = true
engine = "auto"
oci_runtime = ""
prefer = "strength"
image = "ralph:latest"
reuse_container = true
use_local_image = true
protect = ["deploy/", "Makefile"]
readonly_secrets = []
inner = ""                         # srt

[sandbox.network]
policy = "allowlist"
allowed = ["github.com", "@npm"]
denied = ["gist.github.com"]

[sandbox.resources]
memory = "8g"
cpus = "4"
timeout_minutes = 60
processes = 512
disk = "20g"

[budget]
max_cost_usd = 10.0
max_iterations = 20
max_tokens = 0
max_time = "8h"
name = ""                          # a name shares one budget among runs
unknown_model = "refuse"           # refuse | dearest
steer = false

[loop]
prompt = "docs/PROMPT.md"
tasks = "docs/prd.json"            # prd.json or tasks.json if nothing is said
completion_tag = "<done/>"
max_turns = 100                    # of one iteration; 0 is no limit
idle_timeout = 0                   # never
completion_timeout = "90s"
empty_retries = 0
max_consecutive_errors = 6         # in a row; 0 is off
max_same_error = 4
max_no_progress = 5
max_denials = 0
cool_down = "0s"                   # ends the run at once
max_wait = "2d"
idle_threshold = 1

[validation]
setup = "go mod download"
command = "go test ./..."
trusted = ["**/*_test.go"]
timeout = "1h"

[validation.network]
policy = "allowlist"               # same | deny | allowlist
allowed = ["github.com"]

[git]
workspace = "clone"                # auto | clone | in-place | worktree
checkout = "inside"                # auto | folder | inside
branch = "ralph/{run}"
name = "The Loop"
email = "loop@acme.example"
commit = "agent"                   # auto | agent
objects = "copy"                   # share | copy
protected_branches = ["deploy"]
push = false
remote = "origin"
sign = false
max_import = "64m"
max_file = "1m"

[run]
folder = ".ralph/runs"

[notify]
command = []
webhook = ""
desktop = false
on = ["done", "needs-attention", "error"]
`

func TestFullFile(t *testing.T) {
	want := Config{
		Agent: Agent{Name: "claude", Model: "claude-sonnet-5", Command: []string{"sh", "-c", "..."}, Upstream: "https://api.anthropic.com"},
		Execution: Execution{
			Mode: ModeContainer, UseBypassPermissions: true,
		},
		Sandbox: Sandbox{
			Enabled: true, Engine: EngineAuto, Prefer: PreferStrength, Image: "ralph:latest", ReuseContainer: true, UseLocalImage: true,
			Protect: []string{"deploy", "Makefile"},
			Network: Network{Policy: PolicyAllowlist, Allowed: []string{"github.com", "@npm"}, Denied: []string{"gist.github.com"}},
			Resources: Resources{
				Memory: 8 << 30, CPUs: 4, Processes: 512, Disk: 20 << 30, Timeout: time.Hour,
			},
		},
		Budget: Budget{MaxCostUSD: 10, MaxIterations: 20, MaxTime: 8 * time.Hour, UnknownModel: UnknownRefuse},
		Loop: Loop{
			Prompt: "docs/PROMPT.md", Tasks: "docs/prd.json", CompletionTag: "<done/>", MaxTurns: 100, CompletionTimeout: 90 * time.Second,
			MaxErrors: 6, MaxSameError: 4, MaxNoProgress: 5, MaxWait: 48 * time.Hour, IdleThreshold: 1,
		},
		Validation: Validation{
			Setup: "go mod download", Command: "go test ./...", Trusted: []string{"**/*_test.go"}, Timeout: time.Hour,
			Network: Reach{Policy: PolicyAllowlist, Allowed: []string{"github.com"}},
		},
		Git: Git{
			Workspace: WorkspaceClone, Checkout: CheckoutInside, Branch: "ralph/{run}", Name: "The Loop", Email: "loop@acme.example", Commit: CommitAgent, Objects: ObjectsCopy,
			Protected: []string{"main", "master", "trunk", "release/*", "deploy"}, Remote: "origin", MaxImport: 64 << 20, MaxFile: 1 << 20,
		},
		Run:    Run{Folder: ".ralph/runs"},
		Notify: Notify{On: []string{"done", "needs-attention", "error"}},
	}
	windows := "\ufeff" + strings.ReplaceAll(full, "\n", "\r\n")
	for name, file := range map[string]string{"plain": full, "with BOM and CRLF": windows} {
		layer := mustParse(t, file)
		if n := len(schema()); len(layer.settings) != n {
			t.Errorf("%s: the file sets %d keys of %d", name, len(layer.settings), n)
		}
		got, notes := Resolve(Sources{Project: layer})
		if !reflect.DeepEqual(got, want) || len(notes) != 0 {
			t.Errorf("%s:\n got %+v, notes %q\nwant %+v", name, got, notes, want)
		}
		if again := mustParse(t, encode(t, layer)); !sameValues(layer, again) {
			t.Errorf("%s: reading back gives\n%v, want\n%v", name, again.settings, layer.settings)
		}
	}
}

// TestOtherSpellings reads the same meaning from the other forms TOML has.
func TestOtherSpellings(t *testing.T) {
	cfg, _ := Resolve(Sources{Project: mustParse(t, `
sandbox.resources = { memory = '1.5G', cpus = 2 }
sandbox."network".policy = """deny"""
budget.max_tokens = 1_000
`)})
	want := Defaults()
	want.Sandbox.Resources = Resources{Memory: 1536 << 20, CPUs: 2}
	want.Sandbox.Network.Policy = PolicyDeny
	want.Budget.MaxTokens = 1000
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("got %+v\nwant %+v", cfg, want)
	}
}

func TestSchemaIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range schema() {
		if f.key == "" || f.doc == "" || seen[f.key] {
			t.Errorf("key %q has no documentation or is there twice", f.key)
		}
		seen[f.key] = true
	}
}

// TestUsersOwnSections reads what a project's file cannot say.
func TestUsersOwnSections(t *testing.T) {
	cfg, notes := Resolve(Sources{User: mustParse(t, `
run.folder = "/var/lib/runs"
[git]
workspace = "in-place"
branch = "loop"
protected_branches = ["stable"]
push = true
remote = "mine/fork"
sign = true
max_import = "1t"
max_file = "1g"
[notify]
command = ["notify", "--title", ""]
webhook = "https://hooks.example/T1?sig=x"
desktop = true
on = []
`)})
	want := Notify{Command: []string{"notify", "--title", ""}, Webhook: "https://hooks.example/T1?sig=x", Desktop: true}
	if !reflect.DeepEqual(cfg.Notify, want) || cfg.Run.Folder != "/var/lib/runs" || len(notes) != 0 {
		t.Errorf("got %+v, %+v, notes %q", cfg.Notify, cfg.Run, notes)
	}
	git := Defaults().Git
	git.Workspace, git.Branch, git.Protected, git.Push, git.Remote, git.Sign = WorkspaceInPlace, "loop", []string{"stable"}, true, "mine/fork", true
	git.MaxImport, git.MaxFile = 1<<40, 1<<30
	if !reflect.DeepEqual(cfg.Git, git) {
		t.Errorf("got %+v\nwant %+v", cfg.Git, git)
	}
}

func TestLoadRefusesWhatIsNotAFile(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "real.toml"), full)
	write(t, filepath.Join(dir, "large.toml"), strings.Repeat("#", maxFileSize+1))
	write(t, filepath.Join(dir, "limit.toml"), strings.Repeat("#", maxFileSize))

	tests := []struct{ file, want string }{
		{"real.toml", ""},
		{"limit.toml", ""},
		{"large.toml", "large.toml: is larger than 1m"},
		{".", ": is not a regular file"},
	}
	if runtime.GOOS != "windows" {
		if err := os.Symlink("real.toml", filepath.Join(dir, "link.toml")); err != nil {
			t.Fatal(err)
		}
		tests = append(tests, struct{ file, want string }{"link.toml", "link.toml: is a symbolic link; put the file itself here"})
	}
	for _, tt := range tests {
		_, err := Load(filepath.Join(dir, tt.file))
		var refused *Error
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.file, err)
		case tt.want != "" && (!errors.As(err, &refused) || !strings.HasSuffix(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want %s", tt.file, err, tt.want)
		}
	}
	if _, err := Load(filepath.Join(dir, "missing.toml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: got %v, want fs.ErrNotExist", err)
	}
}

func TestUserFile(t *testing.T) {
	home := t.TempDir()
	tests := []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"XDG_CONFIG_HOME": home, "HOME": "/x"}, filepath.Join(home, "ralph", "config.toml")},
		{map[string]string{"XDG_CONFIG_HOME": "relative", "HOME": home}, filepath.Join(home, ".config", "ralph", "config.toml")},
		{map[string]string{"AppData": home}, filepath.Join(home, "ralph", "config.toml")},
		{nil, ""},
	}
	for _, tt := range tests {
		if got := UserFile(environment(tt.env)); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.env, got, tt.want)
		}
	}
}

func TestRead(t *testing.T) {
	project, home := t.TempDir(), t.TempDir()
	env := map[string]string{"XDG_CONFIG_HOME": home}
	userFile := UserFile(environment(env))

	// Nothing is there: the defaults hold.
	cfg, notes, err := Read(project, environment(env), nil)
	if err != nil || len(notes) != 0 || !reflect.DeepEqual(cfg, Defaults()) {
		t.Fatalf("without files: %+v, %q, %v", cfg, notes, err)
	}

	// All sources speak.
	write(t, filepath.Join(project, ProjectFile), "[sandbox.resources]\nmemory = \"16g\"\ncpus = 2")
	write(t, userFile, "[sandbox.resources]\nmemory = \"8g\"")
	env["RALPH_AGENT_NAME"] = "codex"
	flags := &Layer{}
	if err := flags.Set("--max-iterations", "budget.max_iterations", "3"); err != nil {
		t.Fatal(err)
	}
	cfg, notes, err = Read(project, environment(env), flags)
	if err != nil || len(notes) != 1 {
		t.Fatalf("got notes %q, error %v; want one note", notes, err)
	}
	if cfg.Sandbox.Resources != (Resources{Memory: 8 << 30, CPUs: 2}) || cfg.Agent.Name != "codex" || cfg.Budget.MaxIterations != 3 {
		t.Errorf("got %+v", cfg)
	}

	// The problems of all sources come together.
	write(t, filepath.Join(project, ProjectFile), "\nnope = 1")
	write(t, userFile, "[agent]\nname = 1")
	env["RALPH_SANDBOX_ENABLED"] = "maybe"
	_, _, err = Read(project, environment(env), nil)
	want := fmt.Sprintf("%s:2: unknown key \"nope\" at the top; there are agent, execution, sandbox, budget, loop, validation, git, run, notify\n"+
		"%s:2: agent.name: must be one of \"claude\", \"codex\", \"opencode\", \"gemini\", \"mini\", \"command\", not 1\n"+
		"RALPH_SANDBOX_ENABLED: must be true or false, not \"maybe\"", filepath.Join(project, ProjectFile), realPath(t, userFile))
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}

// TestUserFileMayBeALink: people keep their settings in a repository.
func TestUserFileMayBeALink(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege on Windows")
	}
	home := t.TempDir()
	env := environment(map[string]string{"XDG_CONFIG_HOME": home})
	write(t, filepath.Join(home, "dotfiles.toml"), "[agent]\nname = \"gemini\"")
	write(t, filepath.Join(home, "ralph", "other"), "")
	if err := os.Symlink(filepath.Join(home, "dotfiles.toml"), UserFile(env)); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := Read(t.TempDir(), env, nil)
	if err != nil || cfg.Agent.Name != "gemini" {
		t.Errorf("got agent %q, %v; want gemini", cfg.Agent.Name, err)
	}
}

func mustParse(t *testing.T, file string) *Layer {
	t.Helper()
	layer, err := Parse("ralph.toml", []byte(file))
	if err != nil {
		t.Fatalf("parsing\n%s\n%v", file, err)
	}
	return layer
}

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func realPath(t *testing.T, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return real
}
