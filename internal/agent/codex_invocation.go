package agent

import (
	"path"
	"strconv"
)

// codexEnv gives the key under the name that codex reads. It takes no address
// from the environment: OPENAI_BASE_URL is for its command line, as in
// -c openai_base_url="$OPENAI_BASE_URL", and for other clients.
func codexEnv(a Access) []string {
	return []string{"CODEX_API_KEY=" + a.Phantom, "OPENAI_API_KEY=" + a.Phantom, "OPENAI_BASE_URL=" + a.BaseURL}
}

// invokeCodex gives the prompt on stdin, which "-" asks codex to read: a pipe has
// no limit and is in no list of processes. What is set with -c beats every
// configuration file, the project's included.
func invokeCodex(t Task) (Command, error) {
	argv := t.run("exec", "--json", "--skip-git-repo-check", "--model", t.Model)
	if t.PermissionMode == Bypass {
		argv = append(argv, "--dangerously-bypass-approvals-and-sandbox")
	} else {
		argv = append(argv, "--sandbox", "workspace-write")
	}
	for _, setting := range codexSettings(t.Access) {
		argv = append(argv, "-c", setting)
	}
	if t.Resume != "" {
		argv = append(argv, "resume", t.Resume)
	}
	home := path.Join(t.Home, ".codex") // codex does not start where this is missing
	return Command{
		Argv: append(argv, "-"), Env: append(codexEnv(t.Access), "CODEX_HOME="+home), Stdin: t.Prompt,
		Files: map[string]string{path.Join(home, "config.toml"): ""},
	}, nil
}

// codexSettings lead codex to the gate and nowhere else. Only a provider of its
// own name can be told not to try again: limits are the loop's to wait for.
func codexSettings(a Access) []string {
	const provider = "model_providers.ralph."
	return []string{
		`model_provider="ralph"`,
		provider + `name="ralph"`,
		provider + "base_url=" + strconv.Quote(a.BaseURL),
		provider + `env_key="CODEX_API_KEY"`,
		provider + `wire_api="responses"`,
		provider + "request_max_retries=0",
		provider + "stream_max_retries=0",
		`web_search="disabled"`, // it would be the provider that reaches out
		"features.plugins=false",
		"analytics.enabled=false",
		"check_for_update_on_startup=false",
	}
}
