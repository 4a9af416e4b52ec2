package agent

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
)

// opencodeEnv keeps opencode from loading what it can do without: a newer
// version, a catalogue of models, language servers, plugins. A project's own
// configuration is not read either. It could choose another provider, and a
// folder .opencode makes opencode install packages first and wait for them in vain.
// (Version 1.18 runs the plugins in that folder all the same, inside the sandbox.)
func opencodeEnv(a Access) []string {
	return []string{
		"ANTHROPIC_API_KEY=" + a.Phantom,
		"ANTHROPIC_BASE_URL=" + a.BaseURL,
		"OPENCODE_DISABLE_AUTOUPDATE=1",
		"OPENCODE_DISABLE_MODELS_FETCH=1",
		"OPENCODE_DISABLE_LSP_DOWNLOAD=1",
		"OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
		"OPENCODE_DISABLE_PROJECT_CONFIG=1",
	}
}

// invokeOpencode gives the prompt as an argument: that is the way that was seen
// to work. The configuration goes inline, for that beats every file. With a title
// given, no model is asked for one.
func invokeOpencode(t Task) (Command, error) {
	if t.Kind == OAuth {
		return Command{}, errors.New("a subscription's token is for Claude Code alone: store an API key")
	}
	prompt, err := argument(t.Prompt)
	if err != nil {
		return Command{}, err
	}
	config, err := opencodeConfig(t)
	if err != nil {
		return Command{}, err
	}
	argv := t.run("run", "--pure", "--title", "ralph", "--format", "json")
	if t.PermissionMode == Bypass {
		argv = append(argv, "--auto")
	}
	if t.Resume != "" {
		argv = append(argv, "--session", t.Resume)
	}
	env := append(opencodeEnv(t.Access), "OPENCODE_CONFIG_CONTENT="+config)
	return Command{Argv: append(argv, prompt), Env: env}, nil
}

// projectInstructions are those files of a project that opencode would read if it
// read its configuration. Relative names are not taken then.
func projectInstructions() []string {
	return []string{"/proc/self/cwd/AGENTS.md", "/proc/self/cwd/CLAUDE.md"}
}

// opencodeConfig pins the small model too, which opencode asks for summaries.
func opencodeConfig(t Task) (string, error) {
	model := t.Model
	if !strings.Contains(model, "/") {
		model = "anthropic/" + model
	}
	config := map[string]any{
		"model":        model,
		"small_model":  model,
		"autoupdate":   false,
		"share":        "disabled",
		"instructions": projectInstructions(),
		"provider": map[string]any{"anthropic": map[string]any{"options": map[string]any{
			"baseURL": strings.TrimSuffix(t.BaseURL, "/") + "/v1",
			"apiKey":  "{env:ANTHROPIC_API_KEY}",
		}}},
	}
	if t.PermissionMode != Bypass {
		config["permission"] = map[string]string{"edit": "allow", "bash": "deny", "webfetch": "deny"}
	}
	text, err := json.Marshal(config, json.Deterministic(true))
	return string(text), err
}
