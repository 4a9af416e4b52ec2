// Package cli is ralph's command line: one file a command, each an options
// struct, a constructor and a function that does the work. It is the only place
// where the parts of the program are put together.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-loop/ralph/internal/lockfile"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// World is all that the commands may touch of the process they run in.
type World struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string

	// Engines makes the list of engines, given the state folder.
	Engines func(stateDir string) []sandbox.Engine

	// Signals passes signals that ask ralph to stop on to a channel, until the
	// returned function is called. Nil: there are none.
	Signals func(to chan<- os.Signal) (unsubscribe func())

	// Step is called between any two steps of a run. It is nil but in tests of what
	// a kill leaves behind.
	Step func(name string)
}

// OS is the world of a real process.
func OS() World {
	return World{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Engines: engines, Signals: subscribe}
}

// Main runs ralph and returns its exit code.
func Main(ctx context.Context, w World, args []string) int {
	root := newRootCommand(w)
	root.SetArgs(args)
	return report(w.Err, spoken(root.ExecuteContext(ctx)))
}

// spoken says in our voice what was meant by a command that does not exist.
func spoken(err error) error {
	if err == nil || !strings.HasPrefix(err.Error(), "unknown command") {
		return err
	}
	what, meant, _ := strings.Cut(err.Error(), "\n\nDid you mean this?\n")
	first, _, _ := strings.Cut(strings.TrimSpace(meant), "\n")
	if first == "" {
		return usageError{errors.New(what), "ralph --help lists the commands, and ralph COMMAND --help what one takes"}
	}
	return usageError{errors.New(what), "did you mean ralph " + first + "?"}
}

func newRootCommand(w World) *cobra.Command {
	root := &cobra.Command{
		Use:   "ralph",
		Short: "Run coding agents unattended, in a loop, inside a hard sandbox",
		Long: `ralph runs coding agents unattended inside a hard sandbox: no file of yours but
the workspace, no network but the hosts you name, no secrets, firm limits.

"ralph demo" shows all of it in a few seconds. "ralph init" begins a project.

Exit codes: 0 done, 1 runtime error, 2 wrong usage or configuration, 3 a limit
ended it, 4 a run needs you, 5 the sandbox could not be set up, 126 and 127 the
command could not be started, 130 interrupted. "ralph exec" passes on the exit
code of its command.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(w.In)
	root.SetOut(w.Out)
	root.SetErr(w.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{err, cmd.CommandPath() + " --help lists what it takes"}
	})
	root.AddCommand(newRunCommand(w), newResumeCommand(w))
	root.AddCommand(newExecCommand(w), newSandboxCommand(w), newPruneAlias(w), newProbeCommand(w), newBudgetCommand(w), newVersionCommand(w))
	root.AddCommand(newMiniCommand(w), newRuntimeCommand(w))
	root.AddCommand(newInitCommand(w))
	root.AddCommand(newTokenCommands(w)...)
	root.AddCommand(newRunReadCommands(w)...)
	root.AddCommand(newLogsCommand(w))
	root.AddCommand(newDiffCommand(w), newApplyCommand(w), newRewindCommand(w), newPushCommand(w))
	root.AddCommand(newShellCommand(w))
	root.AddCommand(newDemoCommand(w))
	return root
}

// stateDir is where ralph keeps what must outlive a process and stay out of
// every sandbox.
func (w World) stateDir() (string, error) {
	dir := w.Getenv("RALPH_STATE_DIR")
	switch {
	case dir != "":
	case os.Geteuid() == 0:
		dir = "/var/lib/ralph"
	case w.Getenv("XDG_STATE_HOME") != "":
		dir = filepath.Join(w.Getenv("XDG_STATE_HOME"), "ralph")
	case w.Getenv("LocalAppData") != "":
		dir = filepath.Join(w.Getenv("LocalAppData"), "ralph")
	default:
		dir = filepath.Join(w.home(), ".local", "state", "ralph")
	}
	if !filepath.IsAbs(dir) {
		return "", usageError{fmt.Errorf("the state folder %q is not an absolute path", dir), "set RALPH_STATE_DIR to one"}
	}
	dir = filepath.Clean(dir)
	// Its owner could have root clean up anything.
	if info, err := os.Stat(dir); err == nil && errors.Is(lockfile.Owned(info, 0), lockfile.ErrForeign) {
		return "", usageError{fmt.Errorf("the state folder %s belongs to another user", dir), "set RALPH_STATE_DIR to a folder of your own"}
	}
	return dir, nil
}

// makeStateDir creates the state folder. Others may pass through, not look: as
// root, a sandbox's processes are nobody, and must reach their own folder in it.
func (w World) makeStateDir() (string, error) {
	dir, err := w.stateDir()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return "", fmt.Errorf("creating the state folder: %w", err)
	}
	return dir, nil
}

// home is the user's home directory, also where no variable tells.
func (w World) home() string {
	if home := w.Getenv("HOME"); home != "" {
		return home
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

// mountHost is what the checks of mounts need to know of this machine.
func (w World) mountHost() (sandbox.Host, error) {
	state, err := w.stateDir()
	if err != nil {
		return sandbox.Host{}, err
	}
	program, err := os.Executable()
	if err != nil {
		return sandbox.Host{}, fmt.Errorf("finding this program: %w", err)
	}
	return sandbox.Host{Home: w.home(), State: state, Program: program}, nil
}

// engines lists the engines of this ralph, and where they keep their state.
func (w World) engines() (list []sandbox.Engine, stateDir string, err error) {
	stateDir, err = w.stateDir()
	if err != nil {
		return nil, "", err
	}
	return w.Engines(stateDir), stateDir, nil
}
