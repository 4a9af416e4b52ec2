//go:build linux

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newCloneLab is a committed project whose agent is a script.
func newCloneLab(t *testing.T, script, toml string) *lab {
	t.Helper()
	l := newLab(t, "[agent]\nname = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\n[validation]\ncommand = \"true\"\n"+toml)
	l.write("agent.sh", script)
	l.commit()
	return l
}

func (l *lab) wants(want int, args ...string) ended {
	l.t.Helper()
	got := l.ralph(args...)
	if got.code != want {
		l.t.Fatalf("ralph %q: exit %d, want %d\n%s%s", args, got.code, want, got.stdout, got.stderr)
	}
	return got
}

// TestRunsLeaveYourFilesAlone: the work is on a branch, and nowhere else.
func TestRunsLeaveYourFilesAlone(t *testing.T) {
	l := newCloneLab(t, "echo new >new; echo more >>README; git log -1 --format=%an; rm agent.sh"+sayComplete, "")
	l.write("README", "mine, not committed\n")
	before := l.git("rev-parse", "HEAD")
	got := l.wants(0, "run", "--branch", "ralph/tidy")
	if !strings.Contains(got.stderr, "in which 1 file is not as you have it: README") {
		t.Errorf("the user is told\n%s", got.stderr)
	}
	l.check(1)
	if status := l.git("status", "--porcelain"); status != "?? README\n" || l.git("rev-parse", "HEAD") != before {
		t.Errorf("the project has %q", status)
	}
	if files := l.git("diff", "--name-status", "HEAD...ralph/tidy"); strings.Join(strings.Fields(files), " ") != "A README D agent.sh A new" {
		t.Errorf("the branch has %s", files)
	}
	for _, folder := range []string{"work", "private", "verify"} {
		if left, _ := filepath.Glob(filepath.Join(l.project, ".ralph/runs/*", folder)); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "ralph-git-*")); len(left) > 5 { // those of other tests
		t.Errorf("left behind: %v", left)
	}
}

// TestBranchesThatARunMustNotMove.
func TestBranchesThatARunMustNotMove(t *testing.T) {
	l := newCloneLab(t, "echo 1 >>f"+sayComplete, "")
	l.git("branch", "-M", "work")
	l.git("branch", "main")
	l.git("branch", "here")
	l.git("worktree", "add", "-q", filepath.Join(l.home, "elsewhere"), "here")
	for branch, why := range map[string]string{
		"main": "is protected", "release/1": "is protected", "work": "is checked out in", "here": "is checked out in",
		"a..b": "cannot be a branch", "-x": "", "work/x": "there is a branch work", "a b": "",
	} {
		got := l.ralph("run", "--branch="+branch)
		if got.code != 2 || !strings.Contains(got.stderr, why) {
			t.Errorf("%q: exit %d\n%s", branch, got.code, got.stderr)
		}
	}
	if l.has(".ralph") {
		t.Error("a run that never began left something")
	}
	l.git("branch", "there")
	got := l.wants(0, "run", "--branch", "there")
	if !strings.Contains(got.stderr, "the branch there exists; the run goes on with it") || l.git("rev-list", "--count", "work..there") != "1\n" {
		t.Errorf("an existing branch: %s", got.stderr)
	}
}

// TestUntrackedFilesStay over an iteration, a stop and a resume; tracked ones too.
func TestUntrackedFilesStay(t *testing.T) {
	l := newCloneLab(t, `cat cache/built cache/more 2>/dev/null
echo working; mkdir -p cache && echo x >>cache/built && echo half >half-done
test $(wc -l <cache/built) -ge 3 && echo '<promise>COMPLETE</promise>'; true`, "")
	l.write(".gitignore", ".ralph/\ncache/\n")
	l.commit()
	l.wants(3, "run", "--max-iterations", "2")
	if l.has("cache") || l.has("half-done") || !l.worked("cache/built") {
		t.Error("the files are not where they should be")
	}
	l.wants(0, "resume", "--max-iterations", "9")
	l.check(3)
	if l.brought("half-done") != "half\n" {
		t.Error("what the agent left was not committed")
	}
}

const oneStory = `{"userStories": [{"id": "US-1", "title": "one", "passes": false}]}`

// TestTaskFilesThatGitDoesNotHave: the agent has a copy, what becomes of it is in the
// project, and what a person adds there is seen.
func TestTaskFilesThatGitDoesNotHave(t *testing.T) {
	l := newCloneLab(t, `sed -i '0,/false/s/false/true/' prd.json; git add -A; git commit -qm work --allow-empty; echo done`, "")
	l.write("prd.json", `{"userStories": [{"id": "US-1", "title": "one", "passes": false},
{"id": "US-2", "title": "two", "passes": false}]}`)
	l.wants(3, "run", "--max-iterations", "1")
	text, err := os.ReadFile(filepath.Join(l.project, "prd.json"))
	if err != nil || strings.Count(strings.ReplaceAll(string(text), " ", ""), `"passes":true`) != 1 {
		t.Fatalf("the project's task file is %s, %v", text, err)
	}
	l.write("prd.json", strings.Replace(string(text), `"userStories": [`, `"userStories": [{"id": "US-3", "title": "three", "passes": false},`, 1))
	got := l.wants(0, "resume", "--max-iterations", "9")
	if !strings.Contains(got.stdout, "all 3 stories pass") {
		t.Errorf("it ends with\n%s", got.stdout)
	}
	if l.git("diff", "--name-only", "HEAD", l.read().state.Commit) != "" {
		t.Error("the task file is part of a commit")
	}
}

// TestTaskFilesInGit come home with the commits, mended.
func TestTaskFilesInGit(t *testing.T) {
	l := newCloneLab(t, `sed -i 's/false/true/; s/"one"/"another"/' prd.json`+sayComplete, "")
	l.write("prd.json", oneStory)
	l.commit()
	l.wants(0, "run")
	if text := l.brought("prd.json"); !strings.Contains(text, "one") || strings.Contains(text, "another") || !strings.Contains(text, "true") {
		t.Errorf("the task file on the branch is %s", text)
	}
	if text, _ := os.ReadFile(filepath.Join(l.project, "prd.json")); string(text) != oneStory {
		t.Errorf("the project's own is %s", text)
	}
}

// TestInPlaceCommitsTheAgentsWorkOnly, and not what lay there before.
func TestInPlaceCommitsTheAgentsWorkOnly(t *testing.T) {
	l := newCloneLab(t, "echo new >new; echo more >>tracked; git log --oneline"+sayComplete, "")
	l.write("tracked", "1\n")
	l.commit()
	l.write("notes", "mine\n")
	l.write("odd [name]*", "mine\n")
	l.wants(0, "run", "--work", "in-place")
	l.check(1)
	if files := l.git("diff", "--name-only", "HEAD", l.read().state.Branch); files != "new\ntracked\n" {
		t.Errorf("the branch has %q", files)
	}
	if !l.has("new") || l.git("status", "--porcelain") != " M tracked\n?? new\n?? notes\n?? \"odd [name]*\"\n" {
		t.Errorf("the project has %s", l.git("status", "--porcelain"))
	}
	if got := l.ralph("apply"); got.code != 2 || !strings.Contains(got.stderr, "in your files already") {
		t.Errorf("apply: exit %d\n%s", got.code, got.stderr)
	}
}

// TestWorktreesForPeople: a checkout beside the project follows the branch until
// somebody works in it.
func TestWorktreesForPeople(t *testing.T) {
	l := newCloneLab(t, "echo x >>count; echo counted", "")
	l.wants(3, "run", "--work", "worktree", "--branch", "ralph/x", "--max-iterations", "1")
	dir := filepath.Join(l.home, "project-ralph-x")
	read := func() string {
		text, _ := os.ReadFile(filepath.Join(dir, "count"))
		return string(text)
	}
	if read() != "x\n" {
		t.Fatalf("count is %q", read())
	}
	l.wants(3, "resume", "--max-iterations", "2")
	if read() != "x\nx\n" || l.git("-C", dir, "status", "--porcelain") != "" {
		t.Errorf("count is %q, status %s", read(), l.git("-C", dir, "status", "--porcelain"))
	}
	must(t, os.WriteFile(filepath.Join(dir, "count"), []byte("mine\n"), 0o644))
	got := l.wants(3, "resume", "--max-iterations", "3")
	if read() != "mine\n" || !strings.Contains(got.stderr, dir) {
		t.Errorf("count is %q\n%s", read(), got.stderr)
	}
	if l.brought("count") != "x\nx\nx\n" {
		t.Error("the branch does not go on")
	}
}

// TestTwoRunsAtOnce in one project: each has its own clone and branch.
func TestTwoRunsAtOnce(t *testing.T) {
	l := newCloneLab(t, `echo "$RALPH_RUN" >"$RALPH_RUN"; while [ ! -e "$RALPH_RUN.go" ]; do sleep 0.05; done; rm "$RALPH_RUN.go"`+sayComplete, "")
	one, two := l.start("run", "--id", "one"), l.start("run", "--id", "two")
	work := func(id string) string { return filepath.Join(l.project, ".ralph/runs", id, "work", id) }
	l.until("both are at work", func() bool { return exists(work("one")) && exists(work("two")) })
	for _, id := range []string{"one", "two"} {
		must(t, os.WriteFile(work(id)+".go", nil, 0o666))
	}
	for _, s := range []*session{one, two} {
		if got := s.wait(); got.code != 0 {
			t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
		}
	}
	for _, id := range []string{"one", "two"} {
		if l.git("show", "ralph/"+id+":"+id) != id+"\n" {
			t.Errorf("the branch of %s", id)
		}
	}
	l.nothingLeft()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestTaskFilesThatWereEdited: what the user has written counts, committed or not.
func TestTaskFilesThatWereEdited(t *testing.T) {
	l := newCloneLab(t, `sed -i 's/false/true/' prd.json; cat prd.json`+sayComplete, "")
	l.write("prd.json", oneStory)
	l.commit()
	l.write("prd.json", strings.ReplaceAll(oneStory, `"one"`, `"my own"`))
	got := l.wants(0, "run")
	if text := l.brought("prd.json"); !strings.Contains(text, "my own") || !strings.Contains(text, "true") {
		t.Errorf("the task file on the branch is %s\n%s", text, got.stderr)
	}
}

// TestChecksOfABranchThatGoesOn: an agent that cheated in one run is not believed in
// the next one, which goes on with its branch.
func TestChecksOfABranchThatGoesOn(t *testing.T) {
	l := newCloneLab(t, "echo true >a.test"+sayComplete, "trusted = [\"*.test\"]\n")
	l.write("a.test", "test -e work\n")
	l.commit()
	l.write("ralph.toml", "[agent]\nname = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\n[validation]\ncommand = \"sh ./a.test\"\ntrusted = [\"*.test\"]\n")
	l.commit()
	l.wants(3, "run", "--max-iterations", "1", "--branch", "ralph/x")
	got := l.wants(3, "run", "--max-iterations", "1", "--branch", "ralph/x")
	if !strings.Contains(got.stderr, "checks are trusted as they are in "+strings.TrimSpace(l.git("rev-parse", "--short=12", "HEAD"))) {
		t.Errorf("the user is told\n%s", got.stderr)
	}
}

// TestABrokenGitDirectory is made anew, and the files are committed all the same.
func TestABrokenGitDirectory(t *testing.T) {
	for _, how := range []string{"clone", "in-place"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			l := newCloneLab(t, `echo work >work; rm -rf "$(git rev-parse --absolute-git-dir)"/* 2>/dev/null`+sayComplete, "")
			l.wants(0, "run", "--work", how)
			l.check(1)
			if l.brought("work") != "work\n" || l.git("fsck") != "" {
				t.Error("the work is not home")
			}
		})
	}
}

// TestRepositoriesThatCannotBeUsed are refused with the reason, and worked on in place
// without git where the user says so.
func TestRepositoriesThatCannotBeUsed(t *testing.T) {
	l := newCloneLab(t, "echo work >work; git log 2>&1 | head -n 1"+sayComplete, "")
	must(t, os.WriteFile(filepath.Join(l.project, ".git/objects/info/alternates"), []byte(t.TempDir()+"\n"), 0o644))
	if got := l.wants(2, "run"); !strings.Contains(got.stderr, "borrows objects") || !strings.Contains(got.stderr, "--work in-place") {
		t.Errorf("the user is told\n%s", got.stderr)
	}
	if l.has(".ralph") {
		t.Error("a run that never began left something")
	}
	l.wants(0, "run", "--work", "in-place")
	if !l.has("work") {
		t.Error("the agent did not work in place")
	}
	if got := l.wants(2, "diff"); !strings.Contains(got.stderr, "no commits of its own") {
		t.Errorf("diff says\n%s", got.stderr)
	}
}
