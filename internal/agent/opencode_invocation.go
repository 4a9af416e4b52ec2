package agent

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
)

func opencodeEnv(a Access) []string {
	return []string{
		"ANTHROPIC_API_KEY=" + a.Phantom,
		"ANTHROPIC_BASE_URL=" + a.BaseURL,
		"OPENCODE_DISABLE_AUTOUPDATE=1",
		"OPENCODE_DISABLE_MODELS_FETCH=1",
	}
}

// invokeOpencode gives the prompt as an argument: that is the way that was seen
// to work. The configuration goes inline, for that beats the project's file.
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
	argv := t.run("run", "--format", "json")
	if t.PermissionMode == Bypass {
		argv = append(argv, "--auto")
	}
	if t.Resume != "" {
		argv = append(argv, "--session", t.Resume)
	}
	env := append(opencodeEnv(t.Access), "OPENCODE_CONFIG_CONTENT="+config)
	return Command{Argv: append(argv, prompt), Env: env}, nil
}

// opencodeConfig pins the small model too, or titles would be asked of another.
func opencodeConfig(t Task) (string, error) {
	model := t.Model
	if !strings.Contains(model, "/") {
		model = "anthropic/" + model
	}
	config := map[string]any{
		"model":       model,
		"small_model": model,
		"autoupdate":  false,
		"share":       "disabled",
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
