package agent

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// claudeCredentials are the variables that Claude Code takes a credential from.
// With two of them set it would choose, and the wrong header would go out.
func claudeCredentials() map[Kind]string {
	return map[Kind]string{
		APIKey: "ANTHROPIC_API_KEY",
		Bearer: "ANTHROPIC_AUTH_TOKEN",
		OAuth:  "CLAUDE_CODE_OAUTH_TOKEN",
	}
}

// claudeSwitches turn off everything that Claude Code asks of other hosts, for
// it shows its credential to some of them.
func claudeSwitches() []string {
	return []string{
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1",
		"DISABLE_ERROR_REPORTING=1",
		"DISABLE_TELEMETRY=1",
	}
}

// claudeRetries bridges a hiccup of the upstream. The default of ten would spend
// three minutes on a limit or a wrong credential that the loop knows how to wait
// for or to report.
const claudeRetries = "CLAUDE_CODE_MAX_RETRIES=2"

// claudeSandboxed lifts the refusal to work as root, which in a sandbox is
// nobody.
const claudeSandboxed = "IS_SANDBOX=1"

func claudeEnv(a Access) []string {
	env := []string{"ANTHROPIC_BASE_URL=" + a.BaseURL, claudeCredentials()[a.Kind] + "=" + a.Phantom}
	return append(append(env, claudeSwitches()...), claudeSandboxed)
}

// invokeClaude gives the prompt on stdin: a pipe has no limit, is in no list of
// processes, and is never taken for an option.
func invokeClaude(t Task) (Command, error) {
	settings, err := claudeSettings(t)
	if err != nil {
		return Command{}, err
	}
	argv := t.run("-p", "--model", t.Model,
		"--output-format", "stream-json", "--verbose",
		"--permission-mode", string(t.PermissionMode),
		"--settings", settings)
	if t.MaxTurns > 0 {
		argv = append(argv, "--max-turns", strconv.Itoa(t.MaxTurns))
	}
	if t.Resume != "" {
		argv = append(argv, "--resume", t.Resume)
	}
	env := append(claudeEnv(t.Access), claudeRetries)
	if t.PermissionMode != Bypass {
		env = slices.DeleteFunc(env, func(v string) bool { return v == claudeSandboxed })
	}
	return Command{Argv: argv, Env: env, Stdin: t.Prompt}, nil
}

// claudeSettings are the settings on the command line, which beat those of the
// project and those that the agent writes while it runs. Without them a project
// could send the traffic elsewhere, show another credential, or switch our hooks
// off. The phantom is not among them: command lines are logged.
func claudeSettings(t Task) (string, error) {
	env := map[string]string{
		"ANTHROPIC_BASE_URL":       t.BaseURL,
		"ANTHROPIC_MODEL":          t.Model,
		"ANTHROPIC_CUSTOM_HEADERS": "",
		"CLAUDE_CODE_USE_BEDROCK":  "",
		"CLAUDE_CODE_USE_VERTEX":   "",
		"CLAUDE_CODE_USE_FOUNDRY":  "",
	}
	for _, variable := range append(claudeSwitches(), claudeRetries) {
		name, value, _ := strings.Cut(variable, "=")
		env[name] = value
	}
	for kind, variable := range claudeCredentials() {
		if kind != t.Kind {
			env[variable] = "" // to Claude Code the same as unset
		}
	}
	text, err := json.Marshal(map[string]any{"disableAllHooks": false, "apiKeyHelper": "", "env": env}, json.Deterministic(true))
	return string(text), err
}
