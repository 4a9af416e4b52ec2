package agent

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

func sample() Task {
	return Task{
		Access: Access{BaseURL: "http://gate/x", Phantom: "phantom", Kind: APIKey},
		Prompt: "do it", PermissionMode: Bypass, Program: []string{"/opt/agent"}, Home: "/home/agent", MaxTurns: 7,
	}
}

func invocation(t *testing.T, name string, task Task) Command {
	t.Helper()
	who, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	command, err := who.Invocation(task)
	if err != nil {
		t.Fatal(err)
	}
	return command
}

// TestInvocations: what each agent is started with, in the sandbox and without;
// mini, which has no without, is in its own file.
func TestInvocations(t *testing.T) {
	for _, test := range []struct {
		agent        string
		bypass, host []string // arguments that follow each other
		stdin        bool
	}{
		{"claude", []string{"--permission-mode", "bypassPermissions"}, []string{"--permission-mode", "acceptEdits"}, true},
		{"codex", []string{"--dangerously-bypass-approvals-and-sandbox"}, []string{"--sandbox", "workspace-write"}, true},
		{"opencode", []string{"--auto"}, []string{"--format", "json", "do it"}, false},
		{"gemini", []string{"--yolo"}, []string{"--approval-mode", "auto_edit"}, false},
		{"command", []string{"/opt/agent"}, []string{"/opt/agent"}, true},
	} {
		t.Run(test.agent, func(t *testing.T) {
			task := sample()
			inside := invocation(t, test.agent, task)
			task.PermissionMode = AcceptEdits
			outside := invocation(t, test.agent, task)
			if !follows(inside.Argv, test.bypass) || !follows(outside.Argv, test.host) || follows(outside.Argv, test.bypass) != slices.Equal(test.bypass, test.host) {
				t.Errorf("inside %q\noutside %q", inside.Argv, outside.Argv)
			}
			if (inside.Stdin == "do it") != test.stdin || strings.Contains(strings.Join(inside.Argv, " "), "do it") == test.stdin {
				t.Errorf("the prompt is at the wrong place: %q, %q", inside.Stdin, inside.Argv)
			}
			if !slices.Contains(inside.Env, "HOME=/home/agent") || strings.Contains(strings.Join(inside.Argv, " "), "phantom") {
				t.Errorf("environment %q, arguments %q", inside.Env, inside.Argv)
			}
			if !strings.Contains(strings.Join(inside.Env, " ")+strings.Join(inside.Argv, " "), "http://gate/x") {
				t.Error("it does not know where the gate is")
			}
		})
	}
}

func follows(all, part []string) bool {
	for i := range all {
		if len(all)-i >= len(part) && slices.Equal(all[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// TestClaudeSettings: everything that a project could turn against us is set.
func TestClaudeSettings(t *testing.T) {
	argv := invocation(t, "claude", sample()).Argv
	var settings struct {
		DisableAllHooks *bool             `json:"disableAllHooks"`
		Env             map[string]string `json:"env"`
	}
	if err := json.Unmarshal([]byte(argv[slices.Index(argv, "--settings")+1]), &settings); err != nil {
		t.Fatal(err)
	}
	if settings.DisableAllHooks == nil || *settings.DisableAllHooks || settings.Env["ANTHROPIC_BASE_URL"] != "http://gate/x" {
		t.Errorf("%+v", settings)
	}
	if _, set := settings.Env["ANTHROPIC_API_KEY"]; set {
		t.Error("the credential in use must come from the environment alone")
	}
	for _, name := range []string{"ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK"} {
		if value, set := settings.Env[name]; !set || value != "" {
			t.Errorf("%s is not held empty", name)
		}
	}
}

func TestClaudeIsNotSandboxedOnTheHost(t *testing.T) {
	task := sample()
	if !slices.Contains(invocation(t, "claude", task).Env, "IS_SANDBOX=1") {
		t.Error("inside it must work as root")
	}
	task.PermissionMode = AcceptEdits
	if slices.Contains(invocation(t, "claude", task).Env, "IS_SANDBOX=1") {
		t.Error("it is told of a sandbox that is not there")
	}
}

func TestGeminiFiles(t *testing.T) {
	command := invocation(t, "gemini", sample())
	const file = "/home/agent/.gemini/settings.json"
	if text := command.Files[file]; !strings.Contains(text, `"selectedType":"gemini-api-key"`) || !strings.Contains(text, `"maxSessionTurns":7`) {
		t.Errorf("%q", command.Files)
	}
	if !slices.Contains(command.Env, "GEMINI_CLI_SYSTEM_SETTINGS_PATH="+file) {
		t.Errorf("%q", command.Env)
	}
}

// TestBadTasks: what could be misread is refused before anything starts.
func TestBadTasks(t *testing.T) {
	for name, change := range map[string]func(*Task){
		"no prompt":         func(t *Task) { t.Prompt = " \n" },
		"NUL":               func(t *Task) { t.Prompt = "a\x00b" },
		"no mode":           func(t *Task) { t.PermissionMode = "" },
		"unknown mode":      func(t *Task) { t.PermissionMode = "yolo" },
		"no program":        func(t *Task) { t.Program = nil },
		"relative home":     func(t *Task) { t.Home = "home" },
		"option as model":   func(t *Task) { t.Model = "--settings" },
		"spaces in a model": func(t *Task) { t.Model = "a b" },
		"option as session": func(t *Task) { t.Resume = "-x" },
		"negative turns":    func(t *Task) { t.MaxTurns = -1 },
		"quote in address":  func(t *Task) { t.BaseURL = `http://x"` },
		"new line":          func(t *Task) { t.Phantom = "a\nLD_PRELOAD=x" },
	} {
		for _, agent := range Names() {
			task := sample()
			change(&task)
			who, _ := Find(agent)
			if command, err := who.Invocation(task); err == nil {
				t.Errorf("%s, %s: %q", agent, name, command.Argv)
			}
		}
	}
}

// TestLongPrompts: two agents take theirs on the command line, which has an end.
func TestLongPrompts(t *testing.T) {
	for _, name := range Names() {
		task := sample()
		task.Prompt = strings.Repeat("x", maxArgument+1)
		who, _ := Find(name)
		_, err := who.Invocation(task)
		if argument := name == "opencode" || name == "gemini"; errors.Is(err, ErrPromptTooLong) != argument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpencodeTakesNoSubscription(t *testing.T) {
	task := sample()
	task.Kind = OAuth
	who, _ := Find("opencode")
	if _, err := who.Invocation(task); err == nil {
		t.Error("a subscription's token is for Claude Code alone")
	}
}
