package agent

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// PermissionMode is how much an agent may do without asking, in the words of
// Claude Code. Nobody is there to be asked, so what is not allowed is denied.
type PermissionMode string

// The modes.
const (
	Bypass      PermissionMode = "bypassPermissions" // everything: the sandbox is the boundary
	AcceptEdits PermissionMode = "acceptEdits"       // edits alone: there is no sandbox
)

// Task is one unattended iteration.
type Task struct {
	Access
	Prompt         string
	Model          string // empty: the agent's own default, pinned all the same
	PermissionMode PermissionMode
	MaxTurns       int      // 0: no limit; see Agent.MaxTurns
	Resume         string   // the session to go on with; empty for a new one
	Program        []string // how the agent's program is started where it runs
	Home           string   // its home there, absolute, with slashes
}

// Command is what to run for a task. Env holds all that the agent needs beside
// what the place where it runs brings along (PATH, proxies, certificates); nothing
// may be inherited from the host.
type Command struct {
	Argv  []string
	Env   []string
	Stdin string            // all of it; the stream ends after it, or the agent waits for ever
	Files map[string]string // to be put there first: path -> content
}

// maxArgument is how long a prompt may be on a command line. Linux refuses an
// argument of 128 KiB; the rest is room for what stands beside it.
const maxArgument = 120 << 10

// ErrPromptTooLong is returned for an agent that takes its prompt on the command
// line alone.
var ErrPromptTooLong = errors.New("prompt too long for a command line")

// Invocation tells how the agent is started for a task.
func (a Agent) Invocation(t Task) (Command, error) {
	if t.Model == "" {
		t.Model = a.Model
	}
	if err := t.check(); err != nil {
		return Command{}, fmt.Errorf("starting %s: %w", a.Name, err)
	}
	if t.MaxTurns > 0 && !a.MaxTurns {
		t.MaxTurns = 0 // the loop counts them
	}
	command, err := a.invoke(t)
	if err != nil {
		return Command{}, fmt.Errorf("starting %s: %w", a.Name, err)
	}
	command.Env = append([]string{"HOME=" + t.Home, "TERM=dumb"}, command.Env...)
	return command, nil
}

// check refuses what would make an agent ask, wait, or read a value as an option.
func (t Task) check() error {
	switch {
	case strings.TrimSpace(t.Prompt) == "":
		return errors.New("the prompt is empty")
	case strings.ContainsRune(t.Prompt, 0):
		return errors.New("the prompt contains a NUL byte")
	case t.PermissionMode != Bypass && t.PermissionMode != AcceptEdits:
		return fmt.Errorf("unknown permission mode %q: there are %s, %s", t.PermissionMode, Bypass, AcceptEdits)
	case len(t.Program) == 0 || t.Program[0] == "":
		return errors.New("it is not said which program to run")
	case !path.IsAbs(t.Home):
		return fmt.Errorf("the home %q is not an absolute path", t.Home)
	case !isWord(t.Model):
		return fmt.Errorf("%q is no name of a model", t.Model)
	case t.Resume != "" && !isWord(t.Resume):
		return fmt.Errorf("%q is no name of a session", t.Resume)
	case t.MaxTurns < 0:
		return fmt.Errorf("%d turns at most: less than none", t.MaxTurns)
	case strings.ContainsAny(t.BaseURL+t.Phantom, "\x00\n\r\"\\"):
		return errors.New("the address or the phantom contains a character that neither can have")
	}
	return nil
}

// isWord tells whether a text from configuration, or from an agent's own output,
// can stand on a command line without being taken for an option.
func isWord(text string) bool {
	const others = "-_.:/@[]+~"
	if text == "" || len(text) > 200 || text[0] == '-' {
		return false
	}
	for _, c := range []byte(text) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune(others, rune(c)) {
			return false
		}
	}
	return true
}

// argument is a prompt as one argument that no parser takes for an option.
func argument(prompt string) (string, error) {
	if len(prompt) > maxArgument {
		return "", fmt.Errorf("%w: %d bytes of %d", ErrPromptTooLong, len(prompt), maxArgument)
	}
	if strings.HasPrefix(prompt, "-") {
		return " " + prompt, nil
	}
	return prompt, nil
}

// run is the agent's program with arguments.
func (t Task) run(args ...string) []string {
	return append(append([]string(nil), t.Program...), args...)
}
