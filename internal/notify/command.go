package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// waitDelay is how long a command's output is waited for after its end.
const waitDelay = 2 * time.Second

type command struct {
	argv    []string
	environ []string
}

// Command is the channel "command": it runs argv on the host, without a shell,
// with the message as JSON on standard input. The environment is environ, which
// is used as it is and may be empty, with RALPH_RUN, RALPH_STATUS, RALPH_REASON,
// RALPH_ITERATION and RALPH_COST_USD, each of one line. If the command fails, the
// error holds the end of what it wrote. When ctx ends, the command is killed, on
// Unix with all that it started.
func Command(argv []string, environ []string) Channel {
	return &command{argv: slices.Clone(argv), environ: slices.Clone(environ)}
}

func (c *command) Name() string { return "command" }

func (c *command) Send(ctx context.Context, m Message) error {
	if len(c.argv) == 0 || c.argv[0] == "" {
		return errors.New("running the notify command: it is empty")
	}
	m = m.clean()
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encoding the message: %w", err)
	}
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Env = append(slices.Clone(c.environ), variables(m)...)
	cmd.Stdin = bytes.NewReader(append(body, '\n'))
	return runToEnd(ctx, cmd)
}

// variables are the message for a script that reads no JSON.
func variables(m Message) []string {
	return []string{
		"RALPH_RUN=" + m.Run,
		"RALPH_STATUS=" + m.Status,
		"RALPH_REASON=" + m.Reason,
		"RALPH_ITERATION=" + strconv.Itoa(m.Iteration),
		"RALPH_COST_USD=" + m.CostUSD,
	}
}

// runToEnd runs a command and all that it starts. The error names the program but
// not its arguments, which may hold a secret.
func runToEnd(ctx context.Context, cmd *exec.Cmd) error {
	output := &tail{}
	cmd.Stdout, cmd.Stderr = output, output
	cmd.WaitDelay = waitDelay
	endWithChildren(cmd)
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		err = ctx.Err() // says more than "signal: killed"
	case errors.Is(err, exec.ErrWaitDelay):
		return nil // it ended well, and left a child that holds its output
	}
	err = fmt.Errorf("running %s: %w", filepath.Base(cmd.Path), err)
	if said := output.String(); said != "" {
		return fmt.Errorf("%w; its output ends: %s", err, said)
	}
	return err
}
