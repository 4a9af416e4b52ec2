package agent

import (
	"path"

	"github.com/go-json-experiment/json"
)

// geminiEnv also keeps gemini from starting itself a second time with more
// memory, which takes as long as the first.
func geminiEnv(a Access) []string {
	return []string{"GEMINI_API_KEY=" + a.Phantom, "GOOGLE_GEMINI_BASE_URL=" + a.BaseURL, "GEMINI_CLI_NO_RELAUNCH=true"}
}

// invokeGemini gives the prompt as an argument: that is the way that was seen to
// work. With an address of our own gemini needs a settings file that says how to
// authenticate. The same file is named as the system's, which beats the project's
// where gemini takes it: it must be root's then, and so must its folder.
func invokeGemini(t Task) (Command, error) {
	prompt, err := argument(t.Prompt)
	if err != nil {
		return Command{}, err
	}
	settings, err := geminiSettings(t)
	if err != nil {
		return Command{}, err
	}
	argv := t.run("--model", t.Model, "--skip-trust", "--output-format", "stream-json")
	if t.PermissionMode == Bypass {
		argv = append(argv, "--yolo")
	} else {
		argv = append(argv, "--approval-mode", "auto_edit")
	}
	if t.Resume != "" {
		argv = append(argv, "--resume", t.Resume)
	}
	folder := path.Join(t.Home, ".gemini")
	file := path.Join(folder, "settings.json")
	return Command{
		Argv:  append(argv, "--prompt="+prompt),
		Env:   append(geminiEnv(t.Access), "GEMINI_CLI_SYSTEM_SETTINGS_PATH="+file),
		Files: map[string]string{file: settings, path.Join(folder, "policies", "ralph.toml"): geminiPolicy},
	}, nil
}

// geminiPolicy takes away the two tools that make Google search and fetch: the
// gate refuses their calls.
const geminiPolicy = `[[rule]]
toolName = ["google_web_search", "web_fetch"]
decision = "deny"
priority = 999
`

// geminiSettings switches off what reports home.
func geminiSettings(t Task) (string, error) {
	settings := map[string]any{
		"security":  map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}},
		"general":   map[string]any{"disableAutoUpdate": true, "disableUpdateNag": true},
		"privacy":   map[string]any{"usageStatisticsEnabled": false},
		"telemetry": map[string]any{"enabled": false},
	}
	if t.MaxTurns > 0 {
		settings["model"] = map[string]any{"maxSessionTurns": t.MaxTurns}
	}
	text, err := json.Marshal(settings, json.Deterministic(true))
	return string(text), err
}
