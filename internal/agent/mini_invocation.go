package agent

import (
	"errors"
	"strconv"
)

// invokeMini starts ralph's own small agent: this very program, inside, with the
// hidden command "mini". It takes the prompt on stdin and prints an Event a line.
func invokeMini(t Task) (Command, error) {
	if t.Resume != "" {
		return Command{}, errors.New("it keeps no sessions to resume")
	}
	argv := t.run("mini", "--model", t.Model, "--permission-mode", string(t.PermissionMode))
	if t.MaxTurns > 0 {
		argv = append(argv, "--max-turns", strconv.Itoa(t.MaxTurns))
	}
	return Command{Argv: argv, Env: claudeEnv(t.Access), Stdin: t.Prompt}, nil
}

// invokeCommand starts a program of the user's. It takes the prompt on stdin, and
// its output is its answer.
func invokeCommand(t Task) (Command, error) {
	if t.Resume != "" {
		return Command{}, errors.New("a command has no sessions to resume")
	}
	env := append(claudeEnv(t.Access), "RALPH_MODEL="+t.Model, "RALPH_PERMISSION_MODE="+string(t.PermissionMode))
	return Command{Argv: t.run(), Env: env, Stdin: t.Prompt}, nil
}
