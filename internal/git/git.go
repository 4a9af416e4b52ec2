package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Git is the host's git, in a closed environment.
type Git struct {
	program string
}

// MissingError means that there is no git on this machine.
type MissingError struct{ err error }

func (e *MissingError) Error() string { return "git is not installed: " + e.err.Error() }
func (e *MissingError) Unwrap() error { return e.err }

// Hint is what to do next.
func (e *MissingError) Hint() string {
	return "install git, or let the agent work on the files as they are: --work in-place"
}

// Find looks for git.
func Find() (*Git, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, &MissingError{err}
	}
	return &Git{program}, nil
}

// CommandError is a git that failed.
type CommandError struct {
	Args   []string
	Code   int
	Stderr string
}

func (e *CommandError) Error() string {
	said := strings.TrimSpace(e.Stderr)
	if said == "" {
		said = fmt.Sprintf("exit code %d", e.Code)
	}
	return fmt.Sprintf("git %s: %s", e.Args[0], said)
}

// saidNo tells whether git ended with 1, by which its questions are answered with no.
func saidNo(err error) bool {
	var failed *CommandError
	return errors.As(err, &failed) && failed.Code == 1
}

// call is one run of git.
type call struct {
	dir   string // the git directory, which is ours
	tree  string // a work tree, where one is needed; no agent can write there
	index string // by default the git directory's
	env   []string
	stdin io.Reader
	// stdout takes the output; nil: it is returned, as far as it is not too long.
	stdout io.Writer
	args   []string
}

const (
	maxOutput = 64 << 20
	maxStderr = 16 << 10
	// waitDelay is how long a git that was ended may keep its output open, by what it
	// started itself.
	waitDelay = 5 * time.Second
)

// TooLongError is a git that printed more than anybody is going to read: a few objects
// can stand for more files than there is room for.
type TooLongError struct{ Command string }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("git %s prints more than %d bytes", e.Command, maxOutput)
}

// output runs git and returns what it printed. It does not wait for the end of what
// is too long.
func (g *Git) output(ctx context.Context, c call) ([]byte, error) {
	out := &limited{most: maxOutput, stop: true}
	c.stdout = out
	err := g.run(ctx, c)
	if out.over && ctx.Err() == nil {
		return nil, &TooLongError{c.args[0]}
	}
	if err != nil {
		return nil, err
	}
	return out.buffer.Bytes(), nil
}

// line runs git and returns the one line that it printed.
func (g *Git) line(ctx context.Context, c call) (string, error) {
	out, err := g.output(ctx, c)
	return strings.TrimSpace(string(out)), err
}

// run runs git to its end.
func (g *Git) run(ctx context.Context, c call) error {
	cmd := exec.CommandContext(ctx, g.program, c.args...)
	cmd.Dir = c.dir
	cmd.Env = slices.Concat(closedEnv(), []string{"GIT_DIR=" + c.dir}, c.env)
	if c.tree != "" {
		cmd.Env = append(cmd.Env, "GIT_WORK_TREE="+c.tree)
	}
	if c.index != "" {
		cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+c.index)
	}
	stderr := &limited{most: maxStderr}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.stdin, c.stdout, stderr
	cmd.WaitDelay = waitDelay
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("git %s: %w", c.args[0], context.Cause(ctx))
	case errors.As(err, &exit):
		return &CommandError{Args: c.args, Code: exit.ExitCode(), Stderr: stderr.buffer.String()}
	}
	return fmt.Errorf("running git %s: %w", c.args[0], err)
}

// closedEnv is all that a git of ours knows of the world: no configuration but that
// of its git directory and the settings here, no hooks, no prompts, no protocols.
func closedEnv() []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), // for git's own programs on systems that need it
		"HOME=" + os.DevNull, "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=" + os.DevNull, "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=" + os.DevNull, "GIT_SSH_COMMAND=" + os.DevNull,
		"GIT_EDITOR=:", "GIT_PAGER=cat", "GIT_OPTIONAL_LOCKS=0", "GIT_ALLOW_PROTOCOL=none",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE=" + os.DevNull, "GIT_ALLOC_LIMIT=1g",
	}
	return append(env, configEnv(closedConfig())...)
}

// closedConfig is said to every git of ours, above whatever a file says.
func closedConfig() [][2]string {
	return [][2]string{
		{"core.hooksPath", os.DevNull},
		{"core.fsmonitor", "false"},
		{"core.attributesFile", os.DevNull},
		{"core.excludesFile", os.DevNull},
		{"core.protectHFS", "true"},
		{"core.protectNTFS", "true"},
		{"core.bigFileThreshold", "32m"},
		{"core.logAllRefUpdates", "true"},
		{"submodule.recurse", "false"},
		{"protocol.allow", "never"},
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
		{"diff.suppressBlankEmpty", "false"},
		{"advice.detachedHead", "false"},
		{"advice.graftFileDeprecated", "false"},
	}
}

// configEnv puts settings into an environment.
func configEnv(settings [][2]string) []string {
	env := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings))}
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s[1]))
	}
	return env
}

// limited keeps as much as it may of what is written to it.
type limited struct {
	buffer bytes.Buffer
	most   int
	stop   bool // whoever writes more is not to go on
	over   bool
}

var errFull = errors.New("there is no room for more")

func (l *limited) Write(data []byte) (int, error) {
	room := l.most - l.buffer.Len()
	if room < len(data) {
		l.over = true
	}
	l.buffer.Write(data[:min(room, len(data))])
	if l.over && l.stop {
		return min(room, len(data)), errFull
	}
	return len(data), nil
}
