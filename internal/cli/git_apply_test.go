//go:build unix

package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/rundir"
)

func TestApplyMerges(t *testing.T) {
	r := threeIterations(t)
	from := r.git("rev-parse main")
	out, stderr := r.works("apply")
	if !strings.HasPrefix(out, "merged 2 commits of run one into main: 3 files\n") {
		t.Errorf("it says %q", out)
	}
	for _, want := range []string{"ralph: note: not verified: no validation has confirmed it\n", "ralph: hint: to undo it: git reset --keep " + from[:12] + "\n"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("it says %q, not %q", stderr, want)
		}
	}
	if r.git("rev-parse main") != r.state().Commit || r.git("status --porcelain") != "" || r.sh(r.project, "cat first") != "1" {
		t.Errorf("main is at %s\n%s", r.git("log --oneline main"), r.git("status --porcelain"))
	}
	if out, _ := r.works("apply"); out != "main has all of run one already\n" {
		t.Errorf("again: %q", out)
	}
	r.git("reset -q --keep " + from[:12]) // as it says
	if r.git("rev-parse main") != from || r.git("status --porcelain") != "" {
		t.Error("what is said to undo it does not")
	}
}

func TestApplyBesideWorkOfTheUsers(t *testing.T) {
	r := threeIterations(t)
	r.verified()
	r.sh(r.project, `echo mine >mine && git add mine && git commit -qm mine && echo more >>README && echo new >new`)
	out, stderr := r.works("apply", "--json")
	var got applyReport
	check(t, json.Unmarshal([]byte(out), &got))
	if got.FastForward || got.Nothing || got.Squashed || !got.Verified || got.Commits != 2 || got.Files != 3 || got.Branch != "main" || got.To != r.git("rev-parse main") {
		t.Errorf("json: %s", out)
	}
	if strings.Contains(stderr, "not verified") {
		t.Errorf("it says %q", stderr)
	}
	if status := r.git("status --porcelain"); status != "M README\n?? new" {
		t.Errorf("status:\n%s", status)
	}
	if parents := strings.Fields(r.git("log -1 --format=%P main")); len(parents) != 2 || r.git("log -1 --format=%an main") != "User" {
		t.Errorf("the merge has the parents %v", parents)
	}
}

func TestApplySquashed(t *testing.T) {
	r := threeIterations(t)
	from := r.git("rev-parse main")
	out, stderr := r.works("apply", "--squash")
	if !strings.HasPrefix(out, "put the changes of run one into your files on main: 3 files, nothing is committed\n") || !strings.Contains(stderr, "git reset --merge") {
		t.Errorf("it says\n%s%s", out, stderr)
	}
	if r.git("rev-parse main") != from || r.git("diff --cached --name-only") != "both\nfirst\nthird" {
		t.Errorf("status:\n%s", r.git("status"))
	}
	r.git("reset -q --merge") // as it says
	if r.git("status --porcelain") != "" {
		t.Errorf("what is said to undo it leaves\n%s", r.git("status --porcelain"))
	}
}

func TestApplyRefuses(t *testing.T) {
	r := newHomeRig(t, config.WorkspaceClone)
	r.refused(exitUsage, "run one changed nothing", "apply")
	r.iterate(`echo two >both && mkdir .vscode && echo x >.vscode/tasks.json`)
	r.refused(exitFailure, ".vscode/tasks.json", "apply")
	r.sh(r.project, `echo three >both && git commit -qam mine`)
	r.refused(exitFailure, "\nralph:   both\n", "apply", "--allow-protected")
	if r.git("status --porcelain") != "" || r.git("log -1 --format=%s main") != "mine" {
		t.Error("a refused merge changed something")
	}
	own := newHomeRig(t, config.WorkspaceInPlace)
	own.refused(exitUsage, "is in your files already", "apply")
}

func TestPush(t *testing.T) {
	r := threeIterations(t)
	remote := filepath.Join(t.TempDir(), "remote.git")
	r.sh(r.project, "git init -q --bare "+remote+" && git remote add origin "+remote)
	out, _ := r.works("push")
	commit := r.state().Commit
	if !strings.HasPrefix(out, "pushed "+commit[:12]+" of run one to origin, branch ralph/one\n") {
		t.Errorf("it says %q", out)
	}
	if r.sh(remote, "git for-each-ref --format='%(refname) %(objectname)'") != "refs/heads/"+rigBranch+" "+commit {
		t.Error("the remote has something else")
	}
	r.verifies()
	if got := r.pushes(); len(got) != 1 || got[0] != (rundir.Push{Remote: "origin", Branch: rigBranch, Commit: commit}) {
		t.Errorf("the record has %+v", got)
	}
}

func TestPushRefuses(t *testing.T) {
	r := threeIterations(t)
	r.refused(exitFailure, "nowhere", "push", "--remote", "nowhere")
	if got := r.pushes(); len(got) != 1 || got[0].Error == "" || got[0].Remote != "nowhere" {
		t.Errorf("the record has %+v", got)
	}
	r.verifies()
	run, err := rundir.Open(r.root, rigRun, rundir.Options{Command: "ralph run"})
	check(t, err)
	r.refused(exitUsage, "run one is in use by", "push")
	check(t, run.Close())
	newHomeRig(t, config.WorkspaceClone).refused(exitUsage, "run one changed nothing", "push")
}

func (r *homeRig) pushes() (all []rundir.Push) {
	r.t.Helper()
	reader, err := rundir.OpenReadOnly(r.root, rigRun)
	check(r.t, err)
	defer reader.Close()
	for e, err := range reader.EventsOf(rundir.EventPush) {
		check(r.t, err)
		var p rundir.Push
		check(r.t, json.Unmarshal(e.Data, &p))
		all = append(all, p)
	}
	return all
}
