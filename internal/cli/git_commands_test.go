//go:build unix

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/rundir"
)

// threeIterations is a run of three: one file, nothing, another file and a change.
func threeIterations(t *testing.T) *homeRig {
	t.Helper()
	r := newHomeRig(t, config.WorkspaceClone)
	r.iterate(`echo 1 >first && git add first && git commit -qm 'Add the first'`)
	r.iterate(`:`)
	r.iterate(`printf 'a\033[2Jb\r\n\377' >third && echo two >both`)
	return r
}

func TestDiffIsAPatch(t *testing.T) {
	r := threeIterations(t)
	for _, test := range []struct {
		name  string
		args  []string
		files string // that the patch makes of an empty checkout of its beginning
		from  string
	}{
		{"the whole run", []string{"diff"}, "both first third", "main"},
		{"of an iteration", []string{"diff", rigRun, "1"}, "first", "main"},
		{"of the last", []string{"diff", "latest", "3"}, "both third", rigBranch + "~1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			patch, stderr := r.works(test.args...)
			if stderr != "" {
				t.Errorf("it says %q", stderr)
			}
			file := filepath.Join(t.TempDir(), "patch")
			check(t, os.WriteFile(file, []byte(patch), 0o600))
			tree := filepath.Join(t.TempDir(), "tree")
			r.git("worktree add -q --detach " + tree + " " + test.from)
			status := r.sh(tree, "git apply --index --whitespace=nowarn "+file+" && git diff --cached --name-only | tr '\\n' ' '")
			if status != test.files {
				t.Errorf("the patch changes %q, want %q", status, test.files)
			}
			if test.files == "both first third" && r.sh(tree, "git write-tree") != r.git("rev-parse "+rigBranch+"^{tree}") {
				t.Error("the patch makes something else of it")
			}
		})
	}
}

func TestDiffInOtherForms(t *testing.T) {
	r := threeIterations(t)
	if out, _ := r.works("diff", rigRun, "--name-only"); out != "both\nfirst\nthird\n" {
		t.Errorf("names: %q", out)
	}
	if out, _ := r.works("diff", rigRun, "--stat"); !strings.Contains(out, "3 files changed") {
		t.Errorf("stat: %q", out)
	}
	out, stderr := r.works("diff", rigRun, "2")
	if out != "" || stderr != "ralph: iteration 2 changed nothing\n" {
		t.Errorf("of an iteration that did nothing: %q %q", out, stderr)
	}
	out, _ = r.works("diff", rigRun, "3", "--json")
	var got diffReport
	check(t, json.Unmarshal([]byte(out), &got))
	state := r.state()
	if got.Run != rigRun || got.To != state.Commit || got.From != r.git("rev-parse "+rigBranch+"~1") ||
		!slices.Equal(got.Files, []string{"both", "third"}) || len(got.Commits) != 1 || got.Commits[0] != (commitEntry{state.Commit, "work of 3"}) || got.Protected == nil {
		t.Errorf("json: %s", out)
	}
}

func TestDiffWarnsOfWhatProgramsObey(t *testing.T) {
	r := newHomeRig(t, config.WorkspaceClone)
	r.iterate(`mkdir -p .vscode sub/.claude && echo '{}' >.vscode/tasks.json && echo x >sub/.claude/grün && echo x >other`)
	_, stderr := r.works("diff")
	if !strings.HasPrefix(stderr, "ralph: note: programs of yours would obey what was changed here: .vscode/tasks.json, sub/.claude/grün\n") || strings.Contains(stderr, "other") {
		t.Errorf("it says %q", stderr)
	}
	out, _ := r.works("diff", "--json")
	var got diffReport
	check(t, json.Unmarshal([]byte(out), &got))
	if len(got.Protected) != 2 || len(got.Files) != 3 {
		t.Errorf("json: %s", out)
	}
}

func TestDiffRefuses(t *testing.T) {
	r := threeIterations(t)
	r.refused(exitUsage, `run one has no iteration 4: it has 3`, "diff", rigRun, "4")
	r.refused(exitUsage, `"x" is no number of an iteration`, "diff", rigRun, "x")
	r.refused(exitUsage, `"0" is no number of an iteration`, "diff", rigRun, "0")
	r.refused(exitUsage, `no run "nine"`, "diff", "nine")
	check(t, os.RemoveAll(filepath.Join(r.env["RALPH_STATE_DIR"], "known-runs")))
	r.refused(exitUsage, "was not started by you", "diff", rigRun) // it may have come with a download
}

func TestADiffThatNobodyReadsToItsEndIsNoError(t *testing.T) {
	r := newHomeRig(t, config.WorkspaceClone)
	r.iterate(`seq 200000 >large`)
	read, write, err := os.Pipe()
	check(t, err)
	check(t, read.Close())
	defer write.Close()
	r.world.Out = write
	if _, stderr, code := r.ralph("diff"); code != 0 || stderr != "" {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestRewindAndGoOn(t *testing.T) {
	r := threeIterations(t)
	r.verified()
	out, stderr := r.works("rewind", rigRun, "1")
	first := r.git("rev-parse " + rigBranch)
	if r.git("log --format=%s -1 "+rigBranch) != "Add the first" {
		t.Errorf("the branch is at %s", r.git("log --oneline "+rigBranch))
	}
	if !strings.HasPrefix(out, "run one is where it was after iteration 1: commit "+first[:12]) ||
		!strings.Contains(stderr, "ralph rewind one 3 goes back to it") || !strings.Contains(stderr, "hint: next: ralph resume one\n") {
		t.Errorf("it says\n%s%s", out, stderr)
	}
	s := r.state()
	if s.Status != rundir.Stopped || s.StopReason != "rewound to iteration 1" || s.Commit != first || s.Verification != nil || s.CostUSD == 0 || s.Iteration != 3 {
		t.Errorf("state: %+v", s)
	}
	if _, err := os.Lstat(filepath.Join(r.path(), workFolder)); err == nil {
		t.Error("the clone is still there")
	}
	r.verifies()
	r.iterate(`test ! -e third && echo 4 >fourth`)
	if names, _ := r.works("diff", rigRun, "4", "--name-only"); names != "fourth\n" {
		t.Errorf("iteration 4 changed %q", names)
	}
	if names, _ := r.works("diff", "--name-only"); names != "first\nfourth\n" {
		t.Errorf("the run changed %q", names)
	}
	shown, _ := r.works("show", rigRun)
	if !strings.Contains(shown, "taken back:\n  | ") || !strings.Contains(shown, " to iteration 1, "+first[:12]) {
		t.Errorf("show:\n%s", shown)
	}
	logged, _ := r.works("logs", rigRun)
	if !strings.Contains(logged, "run taken back to iteration 1, "+first[:12]) {
		t.Errorf("logs:\n%s", logged)
	}
}

// TestRewindForwardsAndToTheBeginning: what was done stays within reach.
func TestRewindForwardsAndToTheBeginning(t *testing.T) {
	r := threeIterations(t)
	third := r.state().Commit
	r.works("rewind", rigRun, "0")
	if s := r.state(); s.Commit != s.Base || s.StopReason != "rewound to its beginning" || r.git("rev-parse "+rigBranch) != s.Base {
		t.Errorf("state: %+v", s)
	}
	r.verifies()
	if out, stderr := r.works("diff"); out != "" || stderr != "ralph: run one changed nothing\n" {
		t.Errorf("diff: %q %q", out, stderr)
	}
	r.works("rewind", rigRun, "3")
	r.verifies()
	if r.git("rev-parse "+rigBranch) != third {
		t.Error("the branch is not back")
	}
	reader, err := rundir.OpenReadOnly(r.root, rigRun)
	check(t, err)
	defer reader.Close()
	if _, c, err := reader.LastCheckpoint(); err != nil || c.Summary != "did 3" || c.Done != "" || c.Commit != third {
		t.Errorf("checkpoint: %+v, %v", c, err)
	}
}

func TestRewindRefuses(t *testing.T) {
	r := threeIterations(t)
	r.refused(exitUsage, "run one has no iteration 4: it has 3", "rewind", rigRun, "4")
	r.refused(exitUsage, `"last" is no number`, "rewind", rigRun, "last")
	r.refused(exitUsage, "a run and an iteration are needed", "rewind", rigRun)
	run, err := rundir.Open(r.root, rigRun, rundir.Options{Command: "ralph run"})
	check(t, err)
	r.refused(exitUsage, "run one is in use by", "rewind", rigRun, "1")
	check(t, run.Close())
	if r.git("rev-parse "+rigBranch) != r.state().Commit {
		t.Error("a refused rewind moved the branch")
	}
	own := newHomeRig(t, config.WorkspaceInPlace)
	own.refused(exitUsage, "works on your own files", "rewind", rigRun, "0")
}

// TestARewindKilledAtAnyStepIsMadeAgain: the same command takes the run back.
func TestARewindKilledAtAnyStepIsMadeAgain(t *testing.T) {
	var steps []string
	r := threeIterations(t)
	r.world.Step = func(name string) { steps = append(steps, name) }
	r.works("rewind", rigRun, "1")
	if len(steps) < 3 {
		t.Fatalf("the steps are %q", steps)
	}
	for _, last := range steps {
		t.Run(last, func(t *testing.T) {
			r := threeIterations(t)
			r.world.Step = func(name string) {
				if name == last {
					panic("killed")
				}
			}
			func() {
				defer func() { _ = recover() }()
				r.ralph("rewind", rigRun, "1")
			}()
			r.world.Step = nil
			r.unlock()
			if _, err := rundir.Verify(r.root, rigRun); err != nil {
				t.Errorf("verify after the kill: %v", err)
			}
			r.works("rewind", rigRun, "1")
			r.verifies()
			if s := r.state(); s.StopReason != "rewound to iteration 1" || r.git("rev-parse "+rigBranch) != s.Commit || s.Commit != r.git("rev-parse main") && r.git("log --format=%s -1 "+rigBranch) != "Add the first" {
				t.Errorf("state: %+v", s)
			}
			r.iterate(`test ! -e third && echo 4 >fourth`)
			if names, _ := r.works("diff", "--name-only"); names != "first\nfourth\n" {
				t.Errorf("the run changed %q", names)
			}
		})
	}
}

// unlock puts a copy of the run in its place: the lock of a writer that was killed is
// gone, and that of one that panicked in this process is not.
func (r *homeRig) unlock() {
	r.t.Helper()
	r.sh(r.root, "cp -a "+rigRun+" copy && rm -rf "+rigRun+" && mv copy "+rigRun)
}

// TestListAndShowTellOfCommits in JSON.
func TestListAndShowTellOfCommits(t *testing.T) {
	r := threeIterations(t)
	r.verified()
	s := r.state()
	for _, args := range [][]string{{"ls", "--json"}, {"show", "--json"}} {
		out, _ := r.works(args...)
		for _, want := range []string{`"base":"` + s.Base + `"`, `"commit":"` + s.Commit + `"`, `"verification":{"outcome":"verified","commit":"` + s.Commit + `"}`} {
			if !strings.Contains(out, want) {
				t.Errorf("%q has no %s: %s", args, want, out)
			}
		}
	}
}
