package agent

import (
	"path"

	"github.com/go-json-experiment/json"
)

func geminiEnv(a Access) []string {
	return []string{"GEMINI_API_KEY=" + a.Phantom, "GOOGLE_GEMINI_BASE_URL=" + a.BaseURL}
}

// invokeGemini gives the prompt as an argument: that is the way that was seen to
// work. With an address of our own gemini needs a settings file that says how to
// authenticate. The same file is named as the system's, which beats the project's.
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
	file := path.Join(t.Home, ".gemini", "settings.json")
	return Command{
		Argv:  append(argv, "--prompt="+prompt),
		Env:   append(geminiEnv(t.Access), "GEMINI_CLI_SYSTEM_SETTINGS_PATH="+file),
		Files: map[string]string{file: settings},
	}, nil
}

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
