package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	// maxOutput bounds what a program may answer.
	maxOutput = 16 << 20
	// maxWords bounds what is kept of what it says besides.
	maxWords = 16 << 10
)

// Error says that a program failed.
type Error struct {
	Program string
	Args    []string
	Code    int    // its exit code; -1: it was killed, or did not start
	Said    string // the end of its standard error
	Err     error
}

func (e *Error) Error() string {
	words := e.Said
	if words == "" {
		words = e.Err.Error()
	}
	return fmt.Sprintf("%s %s: %s", filepath.Base(e.Program), e.shown(), words)
}

// shown is the arguments, cut: people want to know which call it was.
func (e *Error) shown() string {
	const enough = 4
	if len(e.Args) > enough {
		return strings.Join(e.Args[:enough], " ") + " ..."
	}
	return strings.Join(e.Args, " ")
}

// Unwrap is part of the errors package's conventions.
func (e *Error) Unwrap() error { return e.Err }

// Program is a program of this machine and the environment it gets.
type Program struct {
	Path string
	Env  []string
}

// Output runs the program with arguments and returns what it printed. It runs in
// the root folder: what lies where ralph was started is not its to see. When ctx
// ends, it is killed.
func (p Program) Output(ctx context.Context, args ...string) (string, error) {
	var out capped
	words := NewTail(maxWords)
	cmd := exec.CommandContext(ctx, p.Path, args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = p.Env, string(filepath.Separator), &out, words
	cmd.WaitDelay = time.Second // something it started may hold its output
	if err := cmd.Run(); err != nil {
		return "", &Error{Program: p.Path, Args: args, Code: cmd.ProcessState.ExitCode(), Said: strings.TrimSpace(words.String()), Err: errors.Join(err, ctx.Err())}
	}
	return out.buf.String(), nil
}

// capped refuses more than maxOutput.
type capped struct{ buf bytes.Buffer }

func (c *capped) Write(p []byte) (int, error) {
	if c.buf.Len()+len(p) > maxOutput {
		return 0, errors.New("it printed too much")
	}
	return c.buf.Write(p)
}
