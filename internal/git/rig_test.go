package git_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/git"
)

// rig is a user's repository, the store of a run, and a clone that stands for what a
// sandbox has.
type rig struct {
	t     *testing.T
	user  string // the work tree of the user
	base  string
	repo  *git.Repository
	store *git.Store
	clone git.Clone
}

const (
	runID  = "r1"
	branch = "ralph/r1"
)

// newRig makes them. Each change is a line of sh in the user's repository before the
// run begins.
func newRig(t *testing.T, changes ...string) *rig {
	t.Helper()
	r := &rig{t: t, user: filepath.Join(t.TempDir(), "user")}
	must(t, os.MkdirAll(r.user, 0o755))
	r.sh(r.user, `git init -q -b main . && echo hello >README && mkdir src && echo 'package a' >src/a.go && git add -A && git commit -qm first`)
	for _, change := range changes {
		r.sh(r.user, change)
	}
	r.open()
	return r
}

func (r *rig) open() {
	r.t.Helper()
	program, err := git.Find()
	must(r.t, err)
	r.repo, err = git.Open(r.ctx(), program, r.user)
	must(r.t, err)
	r.base, err = r.repo.Resolve(r.ctx(), "HEAD")
	must(r.t, err)
	run := r.t.TempDir()
	r.store, err = git.CreateStore(r.ctx(), r.options(filepath.Join(run, "git")), true)
	must(r.t, err)
	r.clone = git.Clone{GitDir: filepath.Join(run, "private"), Tree: filepath.Join(run, "work")}
	must(r.t, r.store.Clone(r.ctx(), r.clone, r.base, ""))
}

func (r *rig) options(dir string) git.Options {
	return git.Options{
		Dir: dir, Repo: r.repo, Run: runID, Branch: branch, Base: r.base,
		Identity: git.Identity{Name: "Ralph Loop", Email: "ralph@localhost"}, MaxFile: 1 << 20,
	}
}

func (r *rig) ctx() context.Context { return r.t.Context() }

// sh runs a script as a person would, with plain git.
func (r *rig) sh(dir, script string, env ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.ctx(), "sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(plainEnv(r.t), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

func plainEnv(t *testing.T) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=User", "GIT_AUTHOR_EMAIL=u@example.com", "GIT_COMMITTER_NAME=User", "GIT_COMMITTER_EMAIL=u@example.com",
	}
}

// inside is the environment that leads git to the clone as it would be in a sandbox.
func (r *rig) inside(n string) []string {
	return []string{
		"GIT_DIR=" + r.clone.GitDir, "GIT_WORK_TREE=" + r.clone.Tree, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + r.store.Objects(),
		"GIT_AUTHOR_NAME=Ralph Loop", "GIT_AUTHOR_EMAIL=ralph@localhost", "GIT_COMMITTER_NAME=Ralph Loop", "GIT_COMMITTER_EMAIL=ralph@localhost",
		"RALPH_RUN=" + runID, "RALPH_ITERATION=" + n,
	}
}

// agent runs a script in the clone, as an agent in iteration n would.
func (r *rig) agent(n, script string) string {
	r.t.Helper()
	return r.sh(r.clone.Tree, script, r.inside(n)...)
}

// collect brings out what the agent did, as bytes.
func (r *rig) collect(n int, commit bool) []byte {
	r.t.Helper()
	since, err := r.store.SandboxTip(r.ctx())
	must(r.t, err)
	argv := r.store.Collect(since, commit)
	cmd := exec.CommandContext(r.ctx(), argv[0], argv[1:]...)
	cmd.Dir = r.clone.Tree
	cmd.Env = append(append(plainEnv(r.t), r.inside("1")...), r.store.CollectEnv()...)
	cmd.Stdin = strings.NewReader(r.store.Message(n, "What the agent left", ""))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("collecting: %v\n%s", err, stderr.String())
	}
	return out
}

// bring collects and imports.
func (r *rig) bring(n int) (git.Import, error) {
	r.t.Helper()
	return r.store.Import(r.ctx(), bytes.NewReader(r.collect(n, true)), n, func(path string) bool { return path == "ralph.toml" })
}

func (r *rig) mustBring(n int) git.Import {
	r.t.Helper()
	got, err := r.bring(n)
	must(r.t, err)
	return got
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
