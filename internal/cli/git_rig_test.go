//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/git"
	"github.com/agent-loop/ralph/internal/money"
	"github.com/agent-loop/ralph/internal/rundir"
)

// homeRig is a project with a run whose commits came home, made without a sandbox:
// the clone is worked on by plain git, as an agent would.
type homeRig struct {
	t       *testing.T
	project string
	world   World
	root    string // of the runs
	spec    runSpec
	config  config.Config
	store   *git.Store
	env     map[string]string
	out     bytes.Buffer
	err     bytes.Buffer
}

const (
	rigRun    = "one"
	rigBranch = "ralph/one"
)

// newHomeRig makes a repository with a commit and a run that has done nothing yet.
func newHomeRig(t *testing.T, workspace string) *homeRig {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	check(t, err)
	r := &homeRig{t: t, project: filepath.Join(base, "project"), root: filepath.Join(base, "project", ".ralph", "runs")}
	r.env = map[string]string{"RALPH_STATE_DIR": filepath.Join(base, "state"), "HOME": base, "PATH": os.Getenv("PATH"), "TERM": "dumb"}
	r.world = World{In: strings.NewReader(""), Out: &r.out, Err: &r.err, Getenv: func(name string) string { return r.env[name] }}
	check(t, os.MkdirAll(r.project, 0o755))
	r.sh(r.project, `git init -q -b main . && echo .ralph/ >.gitignore && echo hello >README && echo one >both && git add -A && git commit -qm first`)
	check(t, os.WriteFile(filepath.Join(base, ".gitconfig"), []byte("[user]\n\tname = User\n\temail = u@example.com\n"), 0o600))
	r.create(workspace)
	return r
}

func (r *homeRig) create(workspace string) {
	r.t.Helper()
	r.config, _ = config.Resolve(config.Sources{})
	program, err := git.Find()
	check(r.t, err)
	repo, err := git.Open(r.t.Context(), program, r.project)
	check(r.t, err)
	base, err := repo.Resolve(r.t.Context(), "HEAD")
	check(r.t, err)
	r.spec = runSpec{Version: specVersion, Project: r.project, Settings: r.config.Settings(), Git: &gitSpec{Workspace: workspace, Branch: rigBranch, Base: base}}
	run, err := rundir.Create(r.root, rigRun, r.spec, rundir.Options{})
	check(r.t, err)
	text, err := run.Spec()
	check(r.t, err)
	check(r.t, r.world.remember(newKnownRun(run.Path(), text)))
	r.store, err = git.CreateStore(r.t.Context(), storeOptions(run.Path(), rigRun, repo, *r.spec.Git, r.config), true)
	check(r.t, err)
	check(r.t, run.SaveState(rundir.State{Status: rundir.Paused, Branch: rigBranch, Base: base, Commit: base, Limits: rundir.Limits{MaxIterations: 9}}))
	check(r.t, run.Close())
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sh runs a script as a person would, with plain git.
func (r *homeRig) sh(dir, script string, env ...string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.env["HOME"], "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=User", "GIT_AUTHOR_EMAIL=u@example.com", "GIT_COMMITTER_NAME=User", "GIT_COMMITTER_EMAIL=u@example.com",
	}, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r *homeRig) git(args string) string { r.t.Helper(); return r.sh(r.project, "git "+args) }

func (r *homeRig) path() string { return filepath.Join(r.root, rigRun) }

// iterate does an iteration: a script in the clone, the import of what it left, and
// the record of both. The clone is made where there is none.
func (r *homeRig) iterate(script string) {
	r.t.Helper()
	clone := git.Clone{GitDir: filepath.Join(r.path(), privateFolder), Tree: filepath.Join(r.path(), workFolder)}
	ctx := r.t.Context()
	if _, err := os.Lstat(clone.GitDir); err != nil {
		tip, err := r.store.Tip(ctx)
		check(r.t, err)
		check(r.t, r.store.Clone(ctx, clone, tip, ""))
	}
	run, err := rundir.Open(r.root, rigRun, rundir.Options{})
	check(r.t, err)
	defer run.Close()
	n := run.Iterated() + 1
	inside := []string{"GIT_DIR=" + clone.GitDir, "GIT_WORK_TREE=" + clone.Tree, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + r.store.Objects()}
	r.sh(clone.Tree, script, inside...)
	told := r.collect(n, clone, inside)
	r.record(run, n, told)
}

// collect imports what is in the clone.
func (r *homeRig) collect(n int, clone git.Clone, inside []string) rundir.Import {
	r.t.Helper()
	since, err := r.store.SandboxTip(r.t.Context())
	check(r.t, err)
	argv := r.store.Collect(since, true)
	cmd := exec.CommandContext(r.t.Context(), argv[0], argv[1:]...)
	cmd.Dir = clone.Tree
	cmd.Env = append(append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.env["HOME"]}, inside...), r.store.CollectEnv()...)
	cmd.Stdin = strings.NewReader(r.store.Message(n, fmt.Sprintf("work of %d", n), ""))
	bundle, err := cmd.Output()
	check(r.t, err)
	obeys, err := World{Getenv: func(name string) string { return r.env[name] }}.hostObeys(r.t.Context(), r.config, r.store.Repo)
	check(r.t, err)
	found, err := r.store.Import(r.t.Context(), bytes.NewReader(bundle), n, obeys)
	check(r.t, err)
	return rundir.Import{Branch: rigBranch, From: found.From, To: found.To, Commits: found.Commits, Files: found.Files, Protected: found.Protected, Held: found.Held}
}

// record writes an iteration down as the loop does.
func (r *homeRig) record(run *rundir.Run, n int, told rundir.Import) {
	r.t.Helper()
	state, err := run.State()
	check(r.t, err)
	state.Commit, state.Status, state.StopReason = told.To, rundir.Paused, ""
	for _, err := range []error{
		run.Append(rundir.EventImport, n, told),
		run.Append(rundir.EventCharge, n, rundir.Charge{Spend: rundir.Spend{CostUSD: money.Cent}}),
		run.SaveCheckpoint(n, rundir.Checkpoint{Commit: told.To, Summary: fmt.Sprintf("did %d", n), Done: "well"}),
		run.AppendIteration(rundir.Iteration{N: n, Outcome: "ok", Commits: told.Commits, Commit: told.To, ChangedFiles: told.Files}),
		run.SaveState(state),
	} {
		check(r.t, err)
	}
}

// verified marks the run as verified at its commit.
func (r *homeRig) verified() {
	r.t.Helper()
	run, err := rundir.Open(r.root, rigRun, rundir.Options{})
	check(r.t, err)
	state, err := run.State()
	check(r.t, err)
	state.Status, state.Verification = rundir.Done, &rundir.Verification{Outcome: rundir.Verified, Commit: state.Commit}
	check(r.t, run.SaveState(state))
	check(r.t, run.Close())
}

func (r *homeRig) state() rundir.State {
	r.t.Helper()
	reader, err := rundir.OpenReadOnly(r.root, rigRun)
	check(r.t, err)
	defer reader.Close()
	state, err := reader.State()
	check(r.t, err)
	return state
}

// ralph runs a command and returns what it printed.
func (r *homeRig) ralph(args ...string) (stdout, stderr string, code int) {
	r.t.Helper()
	r.out.Reset()
	r.err.Reset()
	code = Main(r.t.Context(), r.world, append(args, "-C", r.project))
	return r.out.String(), r.err.String(), code
}

// works runs a command that must succeed.
func (r *homeRig) works(args ...string) (stdout, stderr string) {
	r.t.Helper()
	stdout, stderr, code := r.ralph(args...)
	if code != 0 {
		r.t.Fatalf("%q: exit %d\n%s%s", args, code, stdout, stderr)
	}
	return stdout, stderr
}

// refused runs a command that must fail with a code and a text.
func (r *homeRig) refused(code int, text string, args ...string) {
	r.t.Helper()
	stdout, stderr, got := r.ralph(args...)
	if got != code || !strings.Contains(stderr, text) {
		r.t.Errorf("%q: exit %d\n%s%s\nwant %d and %q", args, got, stdout, stderr, code, text)
	}
	if !strings.Contains(stderr, "ralph: hint: ") {
		r.t.Errorf("%q says no way on:\n%s", args, stderr)
	}
}

// verifies checks that the record is whole, sealed to its end.
func (r *homeRig) verifies() {
	r.t.Helper()
	if report, err := rundir.Verify(r.root, rigRun); err != nil || report.Unsealed != 0 {
		r.t.Errorf("verify: %+v, %v", report, err)
	}
}
