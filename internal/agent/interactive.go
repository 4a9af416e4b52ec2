package agent

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
)

// Session is an agent that a person works with, or one call of it with
// arguments of the person's own.
type Session struct {
	Access
	Model          string // empty: the agent's own default, pinned all the same
	PermissionMode PermissionMode
	Program        []string // how the agent's program is started where it runs
	Home           string   // its home there, absolute, with slashes
	Project        string   // the folder that it works on there
	Args           []string // what the person says to the agent itself
}

// Interaction is how an agent is started for a person. As with Command, nothing
// may be inherited from the host.
type Interaction struct {
	Argv []string
	Env  []string

	// Screen means that the agent draws on a terminal, and is nothing without one.
	// Otherwise it works with pipes.
	Screen bool

	// Keeps is the folder in the home that holds the agent's sessions, and with them
	// all that it can go on with later. Empty: it is not known to have one.
	Keeps string

	// Settings are files in that folder that must say something before the agent
	// starts: path -> what makes the new text of the old one, which is nothing if
	// there is none. The old one is the work of agents, so that it is hostile.
	Settings map[string]func(old []byte) ([]byte, error)
}

// interactive is how one agent works with a person.
type interactive struct {
	start    func(Session) (Interaction, error)
	headless []string // arguments with which it needs no screen
	example  string   // of these
}

func interactives() map[string]interactive {
	return map[string]interactive{
		"claude":   {interactClaude, []string{"-p", "--print", "-v", "--version", "-h", "--help", "doctor", "mcp", "plugin"}, `-p "..."`},
		"codex":    {interactCodex, []string{"exec", "e", "review", "mcp", "features", "-V", "--version", "-h", "--help"}, `exec "..."`},
		"opencode": {interactOpencode, []string{"run", "models", "stats", "session", "-v", "--version", "-h", "--help"}, `run "..."`},
		"command":  {interactCommand, nil, ""},
	}
}

// ErrNotInteractive is returned for an agent that takes one task and ends.
var ErrNotInteractive = errors.New("it cannot be worked with")

// Interactive tells how the agent is started for a person.
func (a Agent) Interactive(s Session) (Interaction, error) {
	how, ok := interactives()[a.Name]
	if !ok {
		return Interaction{}, fmt.Errorf("starting %s: %w", a.Name, ErrNotInteractive)
	}
	if s.Model == "" {
		s.Model = a.Model
	}
	if err := s.check(); err != nil {
		return Interaction{}, fmt.Errorf("starting %s: %w", a.Name, err)
	}
	begun, err := how.start(s)
	if err != nil {
		return Interaction{}, fmt.Errorf("starting %s: %w", a.Name, err)
	}
	begun.Env = append([]string{"HOME=" + s.Home}, begun.Env...)
	begun.Screen = how.example != "" && !slices.ContainsFunc(s.Args, func(arg string) bool { return slices.Contains(how.headless, arg) })
	return begun, nil
}

// HeadlessExample is what a person says to the agent where there is no terminal.
func (a Agent) HeadlessExample() string { return interactives()[a.Name].example }

// check holds a session to what holds for a task; only the prompt is missing.
func (s Session) check() error {
	if !path.IsAbs(s.Project) {
		return fmt.Errorf("the project %q is not an absolute path", s.Project)
	}
	t := s.task()
	t.Prompt = "none"
	return t.check()
}

func (s Session) task() Task {
	return Task{Access: s.Access, Model: s.Model, PermissionMode: s.PermissionMode, Program: s.Program, Home: s.Home}
}

// run is the agent's program with our arguments and then the person's, which win.
func (s Session) run(args ...string) []string { return slices.Concat(s.Program, args, s.Args) }

// interactCodex leads codex to the gate by what beats every configuration file.
// Flags would not do: a subcommand has flags of its own.
func interactCodex(s Session) (Interaction, error) {
	settings := codexSettings(s.Access)
	settings = append(settings, "model="+strconv.Quote(s.Model), "projects={"+strconv.Quote(s.Project)+`={trust_level="trusted"}}`)
	if s.PermissionMode == Bypass {
		settings = append(settings, `approval_policy="never"`, `sandbox_mode="danger-full-access"`)
	} else {
		settings = append(settings, `sandbox_mode="workspace-write"`)
	}
	var args []string
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	if len(s.Args) > 0 && s.Args[0] == "exec" {
		s.Args = slices.Insert(slices.Clone(s.Args), 1, "--skip-git-repo-check")
	}
	const folder = ".codex"
	return Interaction{
		Argv: s.run(args...), Env: append(codexEnv(s.Access), "CODEX_HOME="+path.Join(s.Home, folder)), Keeps: folder,
	}, nil
}

func interactOpencode(s Session) (Interaction, error) {
	if s.Kind == OAuth {
		return Interaction{}, errors.New("a subscription's token is for Claude Code alone: store an API key")
	}
	config, err := opencodeConfig(s.task())
	if err != nil {
		return Interaction{}, err
	}
	return Interaction{Argv: s.run(), Env: append(opencodeEnv(s.Access), "OPENCODE_CONFIG_CONTENT="+config)}, nil
}

// interactCommand starts a program of the user's, which is told what agents are.
func interactCommand(s Session) (Interaction, error) {
	env := append(claudeEnv(s.Access), "RALPH_MODEL="+s.Model, "RALPH_PERMISSION_MODE="+string(s.PermissionMode))
	if s.BaseURL == "" {
		env = env[len(claudeEnv(s.Access)):] // it gets no models, and no address of any
	}
	return Interaction{Argv: s.run(), Env: env}, nil
}

// interactClaude starts Claude Code so that it asks nothing before it begins. It
// keeps its folder where it would by itself, and .claude.json in it, too.
func interactClaude(s Session) (Interaction, error) {
	settings, err := claudePersonSettings(s.task())
	if err != nil {
		return Interaction{}, err
	}
	const folder = ".claude"
	env := append(claudeEnv(s.Access), "CLAUDE_CONFIG_DIR="+path.Join(s.Home, folder), "DISABLE_INSTALLATION_CHECKS=1", "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1")
	if s.PermissionMode != Bypass {
		env = slices.DeleteFunc(env, func(v string) bool { return v == claudeSandboxed })
	}
	return Interaction{
		Argv: s.run("--model", s.Model, "--permission-mode", string(s.PermissionMode), "--settings", settings),
		Env:  env, Keeps: folder,
		Settings: map[string]func([]byte) ([]byte, error){
			".claude.json": func(old []byte) ([]byte, error) { return claudeAnswers(old, s) },
		},
	}, nil
}

// claudePersonSettings are those of a task, but that a person has been told of the
// mode, and that a hiccup of the upstream is bridged as long as Claude Code likes.
func claudePersonSettings(t Task) (string, error) {
	text, err := claudeSettings(t)
	if err != nil {
		return "", err
	}
	var settings map[string]any
	if err := json.Unmarshal([]byte(text), &settings); err != nil {
		return "", err
	}
	settings["skipDangerousModePermissionPrompt"] = true
	if env, ok := settings["env"].(map[string]any); ok {
		delete(env, "CLAUDE_CODE_MAX_RETRIES")
		delete(env, "ANTHROPIC_MODEL") // or /model would do nothing
	}
	changed, err := json.Marshal(settings, json.Deterministic(true))
	return string(changed), err
}
