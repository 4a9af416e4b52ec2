package git_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agent-loop/ralph/internal/git"
)

// state is all of a work tree that a refusal must leave alone.
func (r *rig) state(dir string) string {
	r.t.Helper()
	return r.sh(dir, `git rev-parse HEAD; git symbolic-ref HEAD || :; sha256sum "$(git rev-parse --git-dir)/index"
		find . -name .git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum; find . -name .git -prune -o -type l -printf '%p %l\n'
		find "$(git rev-parse --git-dir)" -maxdepth 1 -name '*index*' -printf '%f\n' | sort`)
}

// getenv is the environment of a user whose identity git knows.
func getenv(name string) string {
	return map[string]string{
		"PATH": os.Getenv("PATH"), "GIT_AUTHOR_NAME": "User", "GIT_AUTHOR_EMAIL": "u@example.com", "GIT_CONFIG_NOSYSTEM": "1",
	}[name]
}

// work has an agent do something, and returns the tip that came home.
func (r *rig) work(script string) string {
	r.t.Helper()
	r.agent("1", script)
	return r.mustBring(1).To
}

func (r *rig) apply(o git.Apply) (git.Applied, error) {
	r.t.Helper()
	if o.Name == "" {
		o.Name = "run r1"
	}
	if o.Getenv == nil {
		o.Getenv = getenv
	}
	return r.repo.Apply(r.ctx(), o)
}

func (r *rig) mustApply(o git.Apply) git.Applied {
	r.t.Helper()
	got, err := r.apply(o)
	must(r.t, err)
	return got
}

// clean checks that plain git finds nothing to complain about.
func (r *rig) clean(dir string) {
	r.t.Helper()
	if got := r.sh(dir, `git status --porcelain; git fsck --strict 2>&1 | grep -v '^dangling\|^notice' || :; ls "$(git rev-parse --git-dir)" | grep 'lock\|ralph-index' || :`); got != "" {
		r.t.Errorf("git says\n%s", got)
	}
}

func TestApplyFastForward(t *testing.T) {
	r := newRig(t, `echo gone >gone && printf '#!/bin/sh\n' >tool && ln -s README link && mkdir d && echo f >d/f && git add -A && git commit -qm more`)
	tip := r.work(`echo more >>README && git rm -q gone && chmod +x tool && ln -sf src link && ln -s README new && rm -r d && echo file >d && mkdir -p deep/er && echo x >deep/er/x`)
	got := r.mustApply(git.Apply{Commit: tip})
	if !got.FastForward || got.Nothing || got.Squashed || got.Branch != "main" || got.From != r.base || got.To != tip || got.Files != 8 {
		t.Errorf("got %+v", got)
	}
	if !strings.Contains(got.Stat, "8 files changed") || !strings.Contains(got.Stat, "README") {
		t.Errorf("the summary is\n%s", got.Stat)
	}
	r.clean(r.user)
	if log := r.sh(r.user, `git reflog -1 --format='%gs %gn'; git reflog -1 --format=%gs main; git rev-parse HEAD`); log != "ralph: apply run r1 User\nralph: apply run r1\n"+tip {
		t.Errorf("the logs say\n%s", log)
	}
	if is := r.sh(r.user, `cat README d; readlink link new; test -x tool; test ! -e gone`); is != "hello\nmore\nfile\nsrc\nREADME" {
		t.Errorf("the files are\n%s", is)
	}
	if again := r.mustApply(git.Apply{Commit: tip}); !again.Nothing || again.To != tip || again.Files != 0 {
		t.Errorf("again: %+v", again)
	}
}

func TestApplyMerges(t *testing.T) {
	r := newRig(t)
	tip := r.work(`echo agent >agent`)
	mine := r.sh(r.user, `echo mine >mine && git add -A && git commit -qm Mine && git rev-parse HEAD`)
	got := r.mustApply(git.Apply{Commit: tip})
	if got.FastForward || got.Files != 1 || got.From != mine {
		t.Errorf("got %+v", got)
	}
	r.clean(r.user)
	if log := r.sh(r.user, `git log -1 --format='%an <%ae> %cn|%s|%P|%H|%G?'`); log != "User <u@example.com> User|Merge ralph run r1|"+mine+" "+tip+"|"+got.To+"|N" {
		t.Errorf("the merge is %s", log)
	}
}

// Squash leaves the commit to the user.
func TestApplySquash(t *testing.T) {
	r := newRig(t)
	tip := r.work(`echo one >one && git add -A && git commit -qm One && echo two >>README`)
	got := r.mustApply(git.Apply{Commit: tip, Squash: true})
	if !got.Squashed || got.FastForward || got.To != r.base || got.Files != 2 {
		t.Errorf("got %+v", got)
	}
	if is := r.sh(r.user, `git status --porcelain; git rev-parse HEAD`); is != "M  README\nA  one\n"+r.base {
		t.Errorf("the work tree is\n%s", is)
	}
	r.sh(r.user, `git commit -qm Squashed`)
	if again := r.mustApply(git.Apply{Commit: tip, Squash: true}); !again.Nothing {
		t.Errorf("again: %+v", again)
	}
	r.clean(r.user)
}

// What the user has changed elsewhere stays: staged, unstaged and untracked.
func TestApplyKeepsOtherChanges(t *testing.T) {
	r := newRig(t, `echo s >staged && echo u >unstaged && git add -A && git commit -qm more`)
	tip := r.work(`echo agent >agent; echo more >>README`)
	r.sh(r.user, `echo changed >staged && git add staged && echo changed >unstaged && rm src/a.go && echo new >untracked; touch -d '1 hour ago' README`) // not a change
	r.mustApply(git.Apply{Commit: tip})
	if is := r.sh(r.user, `git status --porcelain -- staged unstaged src untracked; cat staged unstaged agent`); is != "D src/a.go\nM  staged\n M unstaged\n?? untracked\nchanged\nchanged\nagent" {
		t.Errorf("the work tree is\n%s", is)
	}
}

// What is staged is not mixed with what an agent did; the rest stays, also when that is
// taken back.
func TestSquashAndOtherChanges(t *testing.T) {
	r := newRig(t, `echo u >unstaged && git add -A && git commit -qm more`)
	tip := r.work(`echo agent >agent; echo more >>README`)
	r.sh(r.user, `echo changed >unstaged && echo new >untracked && echo mine >mine && git add mine`)
	if _, err := r.apply(git.Apply{Commit: tip, Squash: true}); err == nil || !strings.Contains(err.Error(), "staged changes") {
		t.Errorf("with something staged: %v", err)
	}
	r.sh(r.user, `git commit -qm mine`)
	r.mustApply(git.Apply{Commit: tip, Squash: true})
	if is := r.sh(r.user, `git status --porcelain; git reset -q --merge; git status --porcelain; cat unstaged mine`); is != "M  README\nA  agent\n M unstaged\n?? untracked\n M unstaged\n?? untracked\nchanged\nmine" {
		t.Errorf("the work tree is\n%s", is)
	}
}

// Whatever stands in the way is a refusal that names it and changes nothing at all.
func TestApplyRefuses(t *testing.T) {
	protected := func(path string) bool { return path == ".vscode/tasks.json" }
	for name, test := range map[string]struct {
		before string // in the repository, before the run
		agent  string
		user   string // what the user does meanwhile
		o      git.Apply
		why    string
		fix    string
	}{
		"a changed file":              {agent: `echo more >>README`, user: `echo mine >>README`, why: "README", fix: "stash"},
		"a changed file, same size":   {agent: `echo jello >README`, user: `echo cello >README`, why: "README", fix: "stash"},
		"a staged file":               {agent: `echo more >>README`, user: `echo mine >>README; git add README`, why: "README", fix: "stash"},
		"a removed file":              {agent: `echo more >>README`, user: `rm README`, why: "README", fix: "stash"},
		"a changed file to delete":    {agent: `git rm -q README`, user: `echo mine >>README`, why: "README", fix: "stash"},
		"a mode":                      {agent: `echo more >>README`, user: `chmod +x README`, why: "README", fix: "stash"},
		"an untracked file":           {agent: `echo a >new`, user: `echo mine >new`, why: "new", fix: "move"},
		"an untracked file, the same": {agent: `echo a >new`, user: `echo a >new`, why: "new", fix: "move"},
		"an ignored file":             {before: `echo .env >.gitignore; git add -A; git commit -qm i`, agent: `echo a >.env; git add -f .env`, user: `echo secret >.env`, why: ".env", fix: "move"},
		"ignored files in a folder":   {before: `echo out/ >.gitignore; git add -A; git commit -qm i`, agent: `echo a >out; git add -f out`, user: `mkdir out; echo secret >out/x`, why: "out/x", fix: "move"},
		"a link in the way":           {agent: `mkdir new; echo a >new/x`, user: `ln -s /tmp new`, why: "new", fix: "move"},
		"a file where a folder comes": {agent: `mkdir new; echo a >new/x`, user: `echo mine >new`, why: "new", fix: "move"},
		"a merge in progress":         {agent: `echo a >new`, user: `git rev-parse HEAD >.git/MERGE_HEAD`, why: "merge", fix: "git status"},
		"a rebase in progress":        {agent: `echo a >new`, user: `mkdir .git/rebase-merge`, why: "rebase", fix: "git status"},
		"a bisect in progress":        {agent: `echo a >new`, user: `git bisect start -q`, why: "bisect", fix: "git status"},
		"no branch":                   {agent: `echo a >new`, user: `git checkout -q --detach`, why: "no branch", fix: "git switch"},
		"a branch without a commit":   {agent: `echo a >new`, user: `git checkout -q --orphan other`, why: "no commit", fix: "git switch"},
		"no common history":           {agent: `echo a >new`, user: `git checkout -q --orphan other && git commit -qm other`, why: "no history in common", fix: "git switch"},
		"a sparse checkout":           {agent: `echo a >new`, user: `git sparse-checkout set src`, why: "only a part", fix: "git merge ralph/r1"},
		"a filter":                    {before: `echo '*.bin filter=lfs' >.gitattributes; git add -A; git commit -qm i`, agent: `echo a >x.bin`, why: "x.bin", fix: "git merge ralph/r1"},
		"a filter that comes along":   {agent: `echo '*.bin filter=lfs' >.gitattributes; echo a >x.bin`, why: "x.bin", fix: "git merge ralph/r1"},
		"a filter of the user's":      {agent: `echo a >x.bin`, user: `echo '*.bin filter=lfs' >.git/info/attributes`, why: "x.bin", fix: "git merge ralph/r1"},
		"a protected path":            {agent: `mkdir .vscode; echo a >.vscode/tasks.json`, o: git.Apply{Protected: protected}, why: ".vscode/tasks.json", fix: "--allow-protected"},
		"a protected path by another name": {
			before: `seq 20 >tasks; git add -A; git commit -qm i`, agent: `echo 21 >>tasks`, user: `mkdir .vscode; git mv tasks .vscode/tasks.json; git commit -qm m`,
			o: git.Apply{Protected: protected}, why: ".vscode/tasks.json", fix: "--allow-protected",
		},
		"a lock":            {agent: `echo a >new`, user: `touch .git/index.lock`, why: "another git", fix: "index.lock"},
		"no index":          {agent: `echo a >new`, user: `rm .git/index`, why: "no index", fix: "git reset"},
		"an odd setting":    {agent: `echo a >new`, user: `git config core.eol sideways`, why: "core.eol", fix: "git merge ralph/r1"},
		"no identity":       {agent: `echo a >new`, user: `git commit -q --allow-empty -m x`, o: git.Apply{Getenv: func(string) string { return "" }}, why: "user.name", fix: "git config --global"},
		"an unmerged index": {agent: `echo a >new`, user: `git checkout -q -b o && echo o >README && git commit -qam o && git checkout -q main && echo p >README && git commit -qam p && ! git merge -q o >/dev/null && rm .git/MERGE_HEAD`, why: "resolve", fix: "git status"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, test.before)
			test.o.Commit = r.work(test.agent)
			r.sh(r.user, test.user)
			before := ""
			if test.why != "no commit" && test.why != "no index" {
				before = r.state(r.user)
			}
			_, err := r.apply(test.o)
			var refused *git.RefusedError
			if !errors.As(err, &refused) || !strings.Contains(refused.Why, test.why) || !strings.Contains(refused.Hint(), test.fix) {
				t.Fatalf("got %#v", err)
			}
			if before != "" {
				if after := r.state(r.user); after != before {
					t.Errorf("before\n%s\nafter\n%s", before, after)
				}
			}
		})
	}
}

func TestApplyConflict(t *testing.T) {
	r := newRig(t)
	tip := r.work(`echo agent >README; git rm -q src/a.go; echo x >x`)
	r.sh(r.user, `echo mine >README; echo more >>src/a.go; git commit -qam Mine`)
	before := r.state(r.user)
	_, err := r.apply(git.Apply{Commit: tip})
	var conflict *git.ConflictError
	if !errors.As(err, &conflict) || strings.Join(conflict.Paths, " ") != "README src/a.go" || !strings.HasSuffix(conflict.Hint(), "git merge "+branch) {
		t.Fatalf("got %v", err)
	}
	if after := r.state(r.user); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

func TestApplyAllowsProtected(t *testing.T) {
	r := newRig(t)
	tip := r.work(`echo a >ralph.toml`)
	r.mustApply(git.Apply{Commit: tip, Protected: func(string) bool { return true }, AllowProtected: true})
	r.clean(r.user)
}

// A linked work tree has a branch, an index and a log of its own.
func TestApplyInLinkedWorktree(t *testing.T) {
	r := newRig(t)
	tip := r.work(`echo agent >agent`)
	linked := filepath.Join(t.TempDir(), "linked")
	r.sh(r.user, `git worktree add -q -b topic `+linked)
	before := r.state(r.user)
	r.sh(linked, `mkdir sub && echo mine >sub/mine && git add -A && git commit -qm Mine`)
	program, err := git.Find()
	must(t, err)
	r.repo, err = git.Open(r.ctx(), program, filepath.Join(linked, "sub")) // a project below the top
	must(t, err)
	got := r.mustApply(git.Apply{Commit: tip})
	if got.Branch != "topic" || r.sh(linked, `git rev-parse topic; cat agent`) != got.To+"\nagent" {
		t.Errorf("got %+v", got)
	}
	r.clean(linked)
	if after := r.state(r.user); after != before {
		t.Errorf("the main work tree was\n%s\nand is\n%s", before, after)
	}
	if log := r.sh(linked, `git reflog -1 --format=%gs; git reflog -1 --format=%gs topic`) + r.sh(r.user, `git reflog -1 --format=%gs`); !strings.HasPrefix(log, "ralph: apply run r1\nralph: apply run r1") || strings.HasSuffix(log, "r1ralph: apply run r1") {
		t.Errorf("the logs say %s", log)
	}
}

// If the branch cannot be moved, the files are put back.
func TestApplyPutsBack(t *testing.T) {
	r := newRig(t)
	tip := r.work(`echo more >>README; git rm -q src/a.go; echo new >new`)
	r.sh(r.user, `echo mine >mine; touch .git/refs/heads/main.lock`)
	before := r.state(r.user)
	_, err := r.apply(git.Apply{Commit: tip})
	if err == nil || !strings.Contains(err.Error(), "could not be moved") {
		t.Fatalf("got %v", err)
	}
	if after := r.state(r.user); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	r.sh(r.user, `rm .git/refs/heads/main.lock mine`)
	r.clean(r.user)
}

// Of two at the same time one is refused, or finds nothing to do.
func TestApplyTwiceAtOnce(t *testing.T) {
	r := newRig(t)
	tip := r.work(`for i in $(seq 200); do echo $i >f$i; done`)
	r.sh(r.user, `echo mine >mine; git add mine; git commit -qm mine`)
	var all sync.WaitGroup
	results, errs := make([]git.Applied, 4), make([]error, 4)
	for i := range results {
		all.Go(func() {
			results[i], errs[i] = r.repo.Apply(r.ctx(), git.Apply{Commit: tip, Name: "run r1", Getenv: getenv})
		})
	}
	all.Wait()
	merged := 0
	for i, err := range errs {
		var refused *git.RefusedError
		switch {
		case err == nil && !results[i].Nothing:
			merged++
		case err != nil && !errors.As(err, &refused):
			t.Errorf("got %v", err)
		}
	}
	if merged != 1 {
		t.Errorf("%d were merged", merged)
	}
	r.clean(r.user)
	if merges := r.sh(r.user, `git rev-list --count --merges main`); merges != "1" {
		t.Errorf("%s merges", merges)
	}
}

// An old git has no way to merge without a work tree.
func TestApplyWithOldGit(t *testing.T) {
	r := newRig(t)
	tip := r.work(`echo a >a`)
	r.sh(r.user, `echo mine >mine; git add mine; git commit -qm mine`)
	bin := t.TempDir()
	real := r.sh(r.user, `command -v git`)
	must(t, os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\nfor a; do [ \"$a\" = merge-tree ] && exit 129; done\nexec "+real+" \"$@\"\n"), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	program, err := git.Find()
	must(t, err)
	repo, err := git.Open(r.ctx(), program, r.user)
	must(t, err)
	_, err = repo.Apply(r.ctx(), git.Apply{Commit: tip, Name: "run r1", Getenv: getenv})
	var refused *git.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(refused.Why, "2.38") {
		t.Errorf("got %v", err)
	}
}

func TestApplyWantsACommit(t *testing.T) {
	r := newRig(t)
	for _, commit := range []string{"", "main", "-h", strings.Repeat("0", 40), strings.Repeat("a", 40), r.sh(r.user, `git rev-parse HEAD^{tree}`)} {
		if got, err := r.apply(git.Apply{Commit: commit}); err == nil {
			t.Errorf("%q: got %+v", commit, got)
		}
	}
	r.clean(r.user)
}

// One that is called off before the first file is touched changes nothing.
func TestApplyCalledOff(t *testing.T) {
	r := newRig(t)
	tip := r.work(`echo more >>README`)
	before := r.state(r.user)
	ctx, cancel := context.WithCancel(r.ctx())
	// Which paths are protected is asked when all is known and nothing is done.
	_, err := r.repo.Apply(ctx, git.Apply{Commit: tip, Name: "run r1", Getenv: getenv, Protected: func(string) bool { cancel(); return false }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if after := r.state(r.user); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}
