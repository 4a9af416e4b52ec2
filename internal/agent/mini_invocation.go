package agent

import (
	"errors"
	"strconv"
)

// unlimitedTurns is a number that mini does not reach: left to itself, it ends
// after some.
const unlimitedTurns = 1_000_000

// invokeMini starts ralph's own small agent: this very program, inside, with the
// hidden command "mini". It takes the prompt on stdin and prints JSON lines. Its
// one tool is a shell, which nothing but a sandbox can hold back.
func invokeMini(t Task) (Command, error) {
	switch {
	case t.Resume != "":
		return Command{}, errors.New("it keeps no sessions to resume")
	case t.PermissionMode != Bypass:
		return Command{}, errors.New("it works with a shell alone and asks for no permission, so it runs in a sandbox only")
	}
	turns := t.MaxTurns
	if turns == 0 {
		turns = unlimitedTurns
	}
	return Command{
		Argv:  t.run("mini", "--model", t.Model, "--max-turns", strconv.Itoa(turns)),
		Env:   claudeEnv(t.Access),
		Stdin: t.Prompt,
	}, nil
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
