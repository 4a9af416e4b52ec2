package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/agent-loop/ralph/internal/git"
)

// rounds is how often each thing is measured.
const rounds = 5

// bench is a user's repository and a folder for all else.
type bench struct {
	ctx    context.Context
	ralph  string
	many   string // the repository in the cache, which nothing writes to
	folder string
	user   string // a clone of it that stands for the user's
	repo   *git.Repository
	base   string
	stores int
}

func newBench(ctx context.Context, ralph, many string) (*bench, error) {
	ralph, err := filepath.Abs(ralph)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "gitbench-")
	if err != nil {
		return nil, err
	}
	b := &bench{ctx: ctx, ralph: ralph, many: many, folder: folder, user: filepath.Join(folder, "user")}
	err = os.Chmod(folder, 0o755) // sandboxes of root must get to their files
	if err == nil {
		_, err = plainGit(ctx, folder, "clone", "-q", many, b.user) // links, or copies where the cache is on another disk
	}
	if err == nil {
		err = b.open()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return b, nil
}

func (b *bench) open() error {
	program, err := git.Find()
	if err != nil {
		return err
	}
	if b.repo, err = git.Open(b.ctx, program, b.user); err != nil {
		return err
	}
	b.base, err = b.repo.Resolve(b.ctx, "HEAD")
	return err
}

// place is where the next run has its folders.
func (b *bench) place() string {
	b.stores++
	return filepath.Join(b.folder, fmt.Sprint("run-", b.stores))
}

func (b *bench) options(place string) git.Options {
	return git.Options{
		Dir: filepath.Join(place, "store"), Repo: b.repo, Run: filepath.Base(place), Branch: "ralph/" + filepath.Base(place), Base: b.base,
		Identity: git.Identity{Name: "Ralph Loop", Email: "ralph@localhost"}, MaxFile: 50 << 20,
	}
}

func cloneIn(place string) git.Clone {
	return git.Clone{GitDir: filepath.Join(place, "private"), Tree: filepath.Join(place, "work")}
}

// plainEnv is that of a person without any settings.
func plainEnv() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nowhere", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=User", "GIT_AUTHOR_EMAIL=user@example.com", "GIT_COMMITTER_NAME=User", "GIT_COMMITTER_EMAIL=user@example.com",
	}
}

func plainCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, plainEnv()
	return cmd
}

// plainGit runs git as a person would.
func plainGit(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := plainCommand(ctx, dir, append([]string{"git"}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", args[0], err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
