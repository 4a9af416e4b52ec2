// Package demo is what "ralph demo" shows: a small project with a failing test, a
// home directory that an agent should not get at, and a tape with what a model
// once said about them. It needs no network, no account and nothing installed.
//
// The tape is only right for exactly these files, and for the words that the
// built-in agent uses. The test of "ralph demo" records it again with -update.
package demo

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/agent-loop/ralph/internal/gate/tape"
)

//go:embed project
var files embed.FS

//go:embed tape.jsonl
var recorded []byte

// key stands where a user's own would.
const key = "-----BEGIN OPENSSH PRIVATE KEY-----\nnot a real one: it was made up for ralph demo\n-----END OPENSSH PRIVATE KEY-----\n"

// Place is the folder that a demonstration happens in.
type Place struct{ Dir string }

// Project is what the agent works on.
func (p Place) Project() string { return filepath.Join(p.Dir, "project") }

// Home stands in for the user's home directory.
func (p Place) Home() string { return filepath.Join(p.Dir, "home") }

// State is where ralph keeps what it needs while the run lasts.
func (p Place) State() string { return filepath.Join(p.Dir, "state") }

// New makes a place for a demonstration, below the folder for temporary files.
// After an error nothing of it is left.
func New(ctx context.Context) (Place, error) {
	dir, err := os.MkdirTemp("", "ralph-demo-")
	if err != nil {
		return Place{}, fmt.Errorf("making a folder for the demonstration: %w", err)
	}
	p := Place{dir}
	if err := p.fill(ctx); err != nil {
		_ = p.Remove()
		return Place{}, fmt.Errorf("writing the project of the demonstration: %w", err)
	}
	return p, nil
}

// fill writes what is there before the agent comes.
func (p Place) fill(ctx context.Context) error {
	// As root, a sandbox's processes are nobody, and must get through to the project.
	if err := os.Chmod(p.Dir, 0o711); err != nil {
		return err
	}
	secrets := filepath.Join(p.Home(), ".ssh")
	if err := os.MkdirAll(secrets, 0o755); err != nil {
		return err
	}
	// Anybody may read it, so that only the sandbox stands in the way.
	if err := os.WriteFile(filepath.Join(secrets, "id_ed25519"), []byte(key), 0o644); err != nil {
		return err
	}
	project, err := fs.Sub(files, "project")
	if err != nil {
		return err
	}
	if err := os.CopyFS(p.Project(), project); err != nil {
		return err
	}
	return p.commit(ctx)
}

// commit makes a repository of the project, where there is git. No agent has been
// there yet, and git is told to obey nothing but its arguments.
func (p Place) commit(ctx context.Context) error {
	git, missing := exec.LookPath("git")
	if missing != nil {
		return nil //nolint:nilerr // the sandbox keeps the agent from making one, all the same
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--template="},
		{"add", "."},
		{"-c", "user.name=ralph demo", "-c", "user.email=demo@ralph.invalid", "commit", "--quiet", "-m", "A calendar with a bug"},
	} {
		cmd := exec.CommandContext(ctx, git, args...)
		cmd.Dir = p.Project()
		cmd.Env = []string{"HOME=" + p.Home(), "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(out))
		}
	}
	return nil
}

// Clean removes all but the project and its runs.
func (p Place) Clean() error {
	if err := os.RemoveAll(p.State()); err != nil {
		return fmt.Errorf("cleaning up after the demonstration: %w", err)
	}
	if err := os.RemoveAll(p.Home()); err != nil {
		return fmt.Errorf("cleaning up after the demonstration: %w", err)
	}
	return nil
}

// Remove removes everything.
func (p Place) Remove() error {
	if err := os.RemoveAll(p.Dir); err != nil {
		return fmt.Errorf("removing the demonstration: %w", err)
	}
	return nil
}

// Player plays what the model said.
func Player() (*tape.Player, error) {
	player, err := tape.Load(bytes.NewReader(recorded), int64(len(recorded)), tape.Options{})
	if err != nil {
		return nil, fmt.Errorf("reading the tape of the demonstration: %w", err)
	}
	return player, nil
}
