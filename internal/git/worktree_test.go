package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/git"
)

func (r *rig) worktree() string { return git.WorktreePath(r.user, branch) }

// checkWorktree asks plain git about the folder.
func (r *rig) checkWorktree(commit string) {
	r.t.Helper()
	dir := r.worktree()
	if got := r.sh(dir, `git rev-parse HEAD --abbrev-ref HEAD; git status --porcelain`); got != commit+"\nHEAD" {
		r.t.Errorf("the work tree says %q, want %s", got, commit)
	}
	if got := r.sh(dir, `git add -A; git write-tree`); got != r.sh(dir, `git rev-parse HEAD^{tree}`) {
		r.t.Errorf("the files are those of tree %s", got)
	}
	if got := r.sh(r.user, `git worktree list --porcelain; git worktree prune -n -v; git fsck --strict 2>&1`); !strings.Contains(got, "worktree "+dir+"\nHEAD "+commit+"\ndetached") || strings.Contains(got, "prunable") || strings.Contains(got, "locked") {
		r.t.Errorf("the repository says %q", got)
	}
}

func TestWorktreePath(t *testing.T) {
	top := filepath.Join("home", "me", "app")
	if got, want := git.WorktreePath(top, "ralph/2025/x"), filepath.Join("home", "me", "app-ralph-2025-x"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The folder follows the run, without keeping the branch from following it too, and
// plain git works in it and removes it.
func TestWorktreeFollows(t *testing.T) {
	r := newRig(t)
	steps := []string{
		`echo 1 >one; chmod +x one; ln -s one link; mkdir -p a/b; echo >a/b/c`,
		`echo 2 >one; rm -r a; echo file >a; rm link; mkdir link; echo >link/x`,
		`git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; mkdir sub; git commit -qm sub`,
		`git rm -q README; rm -r src; ln -s /etc src`,
	}
	for i, step := range steps {
		r.agent("1", step)
		got := r.mustBring(i + 1)
		must(t, r.store.Worktree(r.ctx(), r.worktree(), got.To))
		must(t, r.store.Worktree(r.ctx(), r.worktree(), got.To))
		r.checkWorktree(got.To)
		if got.Held != "" {
			t.Errorf("the branch was held: %s", got.Held)
		}
		r.checkBranch(got.To)
	}
	r.sh(r.user, `git worktree remove `+r.worktree())
	if left := r.sh(r.user, `ls .git/worktrees 2>/dev/null || true; git worktree list | wc -l`); left != "1" {
		t.Errorf("left: %q", left)
	}
}

func TestWorktreeGoesBack(t *testing.T) {
	r := newRig(t)
	tips := r.threeTips("")
	must(t, r.store.Worktree(r.ctx(), r.worktree(), tips[2]))
	for _, to := range []string{tips[0], r.base, tips[1]} {
		_, err := r.store.Rewind(r.ctx(), to)
		must(t, err)
		must(t, r.store.Worktree(r.ctx(), r.worktree(), to))
		r.checkWorktree(to)
	}
}

// What a user does there is not undone; the folder stays behind then.
func TestWorktreeOfAUserAtWork(t *testing.T) {
	tests := map[string]struct {
		user string
		why  string // empty: it follows all the same
	}{
		"touched":            {user: `touch -d '2 hours ago' README`},
		"new file":           {user: `echo >mine; git status`},
		"index written":      {user: `git update-index --split-index; git update-index --refresh`},
		"changed":            {user: `echo x >>README`, why: "you have changed files there: README"},
		"staged":             {user: `echo x >new; git add new`, why: "you have changed files there: new"},
		"deleted":            {user: `rm src/a.go`, why: "you have changed files there: src/a.go"},
		"file in the way":    {user: `echo mine >2`, why: "you have 2 where"},
		"commit":             {user: `echo x >>README; git commit -qam mine`, why: "moved its HEAD"},
		"another commit":     {user: `git checkout -q --detach main`, why: "moved its HEAD"},
		"branch checked out": {user: `git checkout -q ` + branch, why: "moved its HEAD"},
		"git at work":        {user: `touch "$(git rev-parse --git-dir)/index.lock"`, why: "index.lock"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.agent("1", `echo 1 >1`)
			must(t, r.store.Worktree(r.ctx(), r.worktree(), r.mustBring(1).To))
			r.sh(r.worktree(), test.user)
			state := r.folder(r.worktree())
			r.agent("2", `echo 2 >2; echo more >>README`)
			to := r.mustBring(2).To
			err := r.store.Worktree(r.ctx(), r.worktree(), to)
			if test.why == "" {
				must(t, err)
				if is := r.sh(r.worktree(), `git rev-parse HEAD; git diff HEAD`); is != to {
					t.Errorf("it says %q", is)
				}
				return
			}
			r.checkRefused(err, test.why)
			if now := r.folder(r.worktree()); now != state {
				t.Errorf("the folder was\n%s\nand is\n%s", state, now)
			}
		})
	}
}

func (r *rig) checkRefused(err error, why string) {
	r.t.Helper()
	var refused *git.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(refused.Error(), why) || refused.Hint() == "" {
		r.t.Errorf("error %v, want a refusal because of %q", err, why)
	}
}

// folder is all that plain tools see of one.
func (r *rig) folder(dir string) string {
	r.t.Helper()
	return r.sh(dir, `find . -type f -exec sha256sum {} + | sort -k2; find . -type l; git rev-parse HEAD 2>&1 || true; git ls-files -s 2>&1 || true`)
}

// Nothing is written to a folder that is not ralph's for this branch.
func TestWorktreeRefusesFolders(t *testing.T) {
	const notOurs = "it is no work tree of ralph's"
	for name, test := range map[string]struct{ made, why string }{
		"empty":             {`mkdir "$DIR"`, notOurs},
		"with files":        {`mkdir "$DIR"; echo >"$DIR/x"`, notOurs},
		"a file":            {`echo >"$DIR"`, notOurs},
		"a link":            {`mkdir ../real; ln -s real "$DIR"`, notOurs},
		"a link to nothing": {`ln -s nothing "$DIR"`, notOurs},
		"a link to a tree":  {`git worktree add -q --detach ../real; ln -s real "$DIR"`, notOurs},
		"a repository":      {`git init -q "$DIR"`, notOurs},
		"the user's tree":   {`git worktree add -q --detach "$DIR"`, notOurs},
		"another's tree":    {`git init -q ../other; git -C ../other commit -q --allow-empty -m x; git -C ../other worktree add -q --detach "$DIR"; printf '` + branch + `\n%s\n' $(git -C ../other rev-parse HEAD) >../other/.git/worktrees/user-ralph-r1/ralph`, notOurs},
		"of another branch": {`git worktree add -q --detach "$DIR"; printf 'ralph-r1\n%s\n' $(git rev-parse HEAD) >.git/worktrees/user-ralph-r1/ralph`, notOurs},
		"gone but known":    {`git worktree add -q --detach "$DIR"; rm -r "$DIR"`, "whose folder is gone"},
		"a link for git":    {`rm -rf .git/worktrees; ln -s ../.. .git/worktrees`, "a link or no folder"},
		"interrupted":       {`git worktree add -q --detach "$DIR"; printf '` + branch + `\n%s\n' $(git rev-parse HEAD) >.git/worktrees/user-ralph-r1/ralph; echo ralph is making it >.git/worktrees/user-ralph-r1/locked`, "making it was interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.sh(r.user, test.made, "DIR="+r.worktree())
			before := r.sh(filepath.Dir(r.user), `find . -path ./user/.git/objects -prune -o -print | sort`)
			r.checkRefused(r.store.Worktree(r.ctx(), r.worktree(), r.base), test.why)
			if after := r.sh(filepath.Dir(r.user), `find . -path ./user/.git/objects -prune -o -print | sort`); after != before {
				t.Errorf("there was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

// A folder that was thrown away is made again, and one whose name is taken in the
// git directory gets another name there.
func TestWorktreeAgain(t *testing.T) {
	r := newRig(t, `mkdir -p ../elsewhere; git worktree add -q --detach ../elsewhere/user-ralph-r1`)
	must(t, r.store.Worktree(r.ctx(), r.worktree(), r.base))
	r.checkWorktree(r.base)
	must(t, os.RemoveAll(r.worktree()))
	must(t, r.store.Worktree(r.ctx(), r.worktree(), r.base))
	r.checkWorktree(r.base)
	if trees := r.sh(r.user, `ls .git/worktrees`); trees != "user-ralph-r1\nuser-ralph-r11" {
		t.Errorf("there are %q", trees)
	}
}

// A failure leaves nothing behind.
func TestWorktreeIsWholeOrNotThere(t *testing.T) {
	r := newRig(t)
	if err := r.store.Worktree(r.ctx(), r.worktree(), strings.Repeat("1", 40)); err == nil {
		t.Error("a commit that is not there was put into a folder")
	}
	blob := r.sh(r.user, `git rev-parse HEAD:README`)
	r.sh(r.user, `rm -f .git/objects/`+blob[:2]+`/`+blob[2:])
	if err := r.store.Worktree(r.ctx(), r.worktree(), r.base); err == nil {
		t.Error("a file that is not there was put into a folder")
	}
	if left := r.sh(filepath.Dir(r.user), `ls; ls user/.git/worktrees`); left != "user" {
		t.Errorf("left: %q", left)
	}
}

// Neither the user's hooks and filters nor what the files name is run.
func TestWorktreeRunsNothing(t *testing.T) {
	program, trace := canary(t)
	r := newRig(t, `CANARY='`+program+`'; git config filter.x.smudge "$CANARY"; git config filter.x.clean "$CANARY"; git config core.fsmonitor "$CANARY"; git config core.hooksPath .hooks`,
		`CANARY='`+program+`'; for h in post-checkout post-index-change reference-transaction; do cp "$CANARY" .git/hooks/$h; done`)
	_ = os.Remove(trace)
	r.agent("1", `echo '* filter=x' >.gitattributes; mkdir .hooks; printf '#!/bin/sh\ntouch `+trace+`\n' >.hooks/post-checkout; chmod +x .hooks/*`)
	must(t, r.store.Worktree(r.ctx(), r.worktree(), r.mustBring(1).To))
	r.agent("2", `echo 2 >2; echo more >>README`)
	must(t, r.store.Worktree(r.ctx(), r.worktree(), r.mustBring(2).To))
	checkNoTrace(t, trace)
	if text := readAll(filepath.Join(r.worktree(), "README")); text != "hello\nmore\n" {
		t.Errorf("README is %q", text)
	}
	r.sh(r.worktree(), `git status`)
	if _, err := os.Stat(trace); err != nil {
		t.Errorf("the trap is dead: %v", err)
	}
}

// All of it works on repositories whose object names are longer.
func TestLongObjectNames(t *testing.T) {
	r := newRig(t, `rm -rf .git; git init -q --object-format=sha256 -b main .; git add -A; git commit -qm first`)
	tips := r.threeTips("")
	must(t, r.store.Worktree(r.ctx(), r.worktree(), tips[1]))
	must(t, r.store.Worktree(r.ctx(), r.worktree(), tips[2]))
	r.checkWorktree(tips[2])
	if names := r.diff(tips[0], tips[2], git.DiffOptions{NamesOnly: true}); names != "2\n3\n" {
		t.Errorf("the names are %q", names)
	}
	if _, changed, err := r.store.TrustedTree(r.ctx(), tips[2], []string{"3"}, nil); err != nil || len(changed) != 1 {
		t.Errorf("changed %q, error %v", changed, err)
	}
	if held, err := r.store.Rewind(r.ctx(), tips[0]); err != nil || held != "" {
		t.Errorf("held %q, error %v", held, err)
	}
	r.checkBranch(tips[0])
	if got, err := r.repo.Uncommitted(r.ctx()); err != nil || got.Changed+got.Untracked != 0 {
		t.Errorf("got %+v, error %v", got, err)
	}
}
