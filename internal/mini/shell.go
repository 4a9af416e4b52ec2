package mini

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// drainTime is how long output is waited for after a command and its group have
// ended: a process that left the group may hold the pipe for ever.
const drainTime = time.Second

// shell runs commands of the model.
type shell struct {
	program string
	dir     string
	env     []string
	timeout time.Duration
}

// command is what the model asks for.
type command struct {
	Command string `json:"command"`
	Timeout int64  `json:"timeout_seconds"`
}

// outcome is how a command ended.
type outcome struct {
	text     string // for the model
	total    int64  // bytes printed
	exit     int    // -1 if it did not exit by itself
	timedOut bool
}

func (o outcome) failed() bool { return o.exit != 0 }

func newShell(dir string, environ []string, timeout time.Duration) shell {
	program := "sh"
	if path, err := exec.LookPath("bash"); err == nil {
		program = path
	}
	return shell{program, dir, withoutCredentials(environ), timeout}
}

// withoutCredentials keeps the phantom from programs that would take it for a
// key to use. It hides nothing: a phantom is no secret inside.
func withoutCredentials(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		for _, v := range credentialVariables {
			if name == v.name {
				return true
			}
		}
		return false
	})
}

// parseCommand reads the input of a tool call. Its errors go to the model and
// leave out those of the decoder, whose words change from process to process.
func parseCommand(input []byte) (command, error) {
	var c command
	if err := json.Unmarshal(input, &c); err != nil {
		return command{}, errors.New(`the input is not {"command": string, "timeout_seconds": integer}`)
	}
	if strings.TrimSpace(c.Command) == "" {
		return command{}, errors.New("the command is empty")
	}
	return c, nil
}

// limit is the time that a command gets.
func (s shell) limit(c command) time.Duration {
	if asked := time.Duration(c.Timeout) * time.Second; c.Timeout > 0 && c.Timeout <= int64(s.timeout/time.Second) {
		return asked
	}
	return s.timeout
}

// run runs a command to its end, or to that of its time, and ends what it leaves
// behind. A command that cannot be run is an outcome too: the model may do
// better.
func (s shell) run(ctx context.Context, c command) outcome {
	limit := s.limit(c)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program, "-c", c.Command)
	cmd.Args[0] = filepath.Base(s.program) // its messages begin with this, wherever it lies
	cmd.Dir, cmd.Env = s.dir, s.env
	ownGroup(cmd)
	cmd.Cancel = func() error { return killGroup(cmd) }
	var output capture
	err := runInto(cmd, &output)
	if cmd.ProcessState == nil {
		return outcome{text: clean(fmt.Sprintf("[the command could not be run: %v]", withoutPath(err))), exit: -1}
	}
	o := outcome{exit: cmd.ProcessState.ExitCode(), timedOut: err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded)}
	o.text, o.total = output.text()
	o.text += verdict(o, cmd, limit)
	return o
}

// withoutPath is an error without the place on this machine that it names.
func withoutPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return fmt.Errorf("%s: %w", at.Op, at.Err)
	}
	return err
}

// runInto runs a command with its output going to where it is told. The pipe is
// its own, not that of os/exec, which would wait for everything that holds it:
// here the shell's end is the end, then its group is killed, and what still
// holds the pipe after a moment is left alone.
func runInto(cmd *exec.Cmd, output io.Writer) error {
	reader, writer, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("making a pipe: %w", err)
	}
	defer reader.Close()
	cmd.Stdout, cmd.Stderr = writer, writer
	err = cmd.Start()
	_ = writer.Close() // the command has its own
	if err != nil {
		return fmt.Errorf("starting the command: %w", err)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(output, reader) // ends when nobody holds the pipe, or it is closed above
	}()
	err = cmd.Wait()
	_ = killGroup(cmd) // mostly nothing is left
	select {
	case <-drained:
	case <-time.After(drainTime):
	}
	return err
}

// verdict is the line after the output, which tells the model how it ended.
func verdict(o outcome, cmd *exec.Cmd, limit time.Duration) string {
	switch {
	case o.timedOut:
		return fmt.Sprintf("\n[ended after %v: the time is up]", limit)
	case o.exit < 0:
		return fmt.Sprintf("\n[ended by a signal: %s]", signalName(cmd.ProcessState))
	case o.exit > 0:
		return fmt.Sprintf("\n[exit code %d]", o.exit)
	case o.total == 0:
		return "[no output]"
	}
	return ""
}
