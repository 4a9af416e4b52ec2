//go:build unix

package gittrap_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/gittrap"
)

// ground is what places are made of: a repository with a first commit, and the
// programs that an agent is said to need.
type ground struct{ tree, tools string }

func newGround(t *testing.T) ground {
	t.Helper()
	g := ground{filepath.Join(t.TempDir(), "tree"), honestTools(t)}
	for _, name := range gittrap.Files() {
		write(t, filepath.Join(g.tree, name), "one of "+name+"\n")
	}
	p := place{tree: g.tree, home: newHome(t)}
	p.must(t, p.host(), "git init -q -b main && git add -A && git commit -q -m first")
	return g
}

// newHome makes a home where git knows nothing but the user's name.
func newHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	write(t, filepath.Join(home, ".gitconfig"), "[user]\n\tname = User\n\temail = user@example.com\n")
	return home
}

// place is a work tree and the world around it.
type place struct{ tree, canary, home, tools string }

// place makes a copy of the repository for one trap.
func (g ground) place(t *testing.T) place {
	t.Helper()
	p := place{filepath.Join(t.TempDir(), "tree"), t.TempDir(), newHome(t), g.tools}
	if err := os.CopyFS(p.tree, os.DirFS(g.tree)); err != nil {
		t.Fatal(err)
	}
	p.must(t, p.host(), "git update-index -q --refresh")
	return p
}

// noTemplate keeps git from filling new repositories with samples: no trap may need
// them.
const noTemplate = "GIT_TEMPLATE_DIR="

// agent is the environment of the agent: sh, git and coreutils, and nobody known.
func (p place) agent() []string {
	return []string{"PATH=" + p.tools, "HOME=/nonexistent", noTemplate, "GIT_CONFIG_NOSYSTEM=1", "CANARY=" + p.canary}
}

// host is the environment of the user, in which nothing tells of the canary.
func (p place) host(more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "TMPDIR=" + p.home, noTemplate, "GIT_CONFIG_NOSYSTEM=1"}, more...)
}

// run runs a script in the tree, without a terminal, and kills what is left of it
// after a minute.
func (p place) run(t *testing.T, environment []string, script string) (output string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "sh", "-c", script)
	command.Dir, command.Env = p.tree, environment
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Second
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err = command.Run()
	return out.String(), err
}

func (p place) must(t *testing.T, environment []string, script string) string {
	t.Helper()
	out, err := p.run(t, environment, script)
	if err != nil {
		t.Fatalf("%v\n%s\nscript:\n%s", err, out, script)
	}
	return out
}

// honestTools makes a folder of the programs that an agent is said to need, so that
// a script which uses any other fails.
func honestTools(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name := range strings.FieldsSeq(`sh git
		cat chmod cp dd echo fold head ln mkdir mkfifo mv od printf rm seq sort touch tr truncate wc`) {
		need(t, name)
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// need skips a test where a program is missing, or fails where nothing may be
// skipped.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err == nil {
			continue
		}
		if os.Getenv("RALPH_TEST_NO_SKIP") != "" {
			t.Fatalf("%s is missing", name)
		}
		t.Skipf("%s is missing", name)
	}
}
