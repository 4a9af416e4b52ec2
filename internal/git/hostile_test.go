package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/git"
)

// A HEAD of a download that leads elsewhere is nobody's branch.
func TestHeadsThatLeadElsewhere(t *testing.T) {
	r := newRig(t)
	must(t, os.WriteFile(filepath.Join(r.user, ".git/HEAD"), []byte("ref: refs/heads/../../../../victim\n"), 0o644))
	if head := r.repo.Head(); head != "" {
		t.Errorf("the branch is %q", head)
	}
}

// What a commit of an agent can say about itself, and what the user gets.
func TestOddCommits(t *testing.T) {
	for _, test := range []struct{ name, script, show, want string }{
		{"a zone that there is not", `GIT_AUTHOR_DATE='1700000000 +9999' GIT_COMMITTER_DATE='1700000000 +9999' git -c core.hooksPath=/dev/null commit -q --allow-empty -m x`, "%ad", "+0000"},
		{"a last paragraph that looks like trailers", `git -c core.hooksPath=/dev/null commit -q --allow-empty -m 'x

Not_a_trailer: y'`, "%(trailers:key=Ralph-Run,valueonly)", runID},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.agent("1", test.script)
			r.mustBring(1)
			if got := r.sh(r.user, `git log -1 --date=raw --format='`+test.show+`' `+branch+`; git fsck --strict 2>&1 | grep -i error || :`); !strings.HasSuffix(got, test.want) {
				t.Errorf("git says %q", got)
			}
		})
	}
}

// One object can be many files.
func TestCommitsThatNoDiskHolds(t *testing.T) {
	r := newRig(t)
	r.store.MaxTree = 10 << 20
	r.agent("1", `head -c 900000 /dev/zero >a && for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do cp a b$i; done`)
	if _, err := r.bring(1); err == nil || !strings.Contains(err.Error(), "bytes together") {
		t.Errorf("got %v", err)
	}
}

// A check that is a link is trusted with what it leads to.
func TestTrustedLinks(t *testing.T) {
	r := newRig(t, `mkdir tools tests && echo 'test -e work' >tools/real.sh && ln -s tools/real.sh check.sh && ln -s ../tools/real.sh tests/t.sh && ln -s tools ci && git add -A && git commit -qm checks`)
	r.agent("1", `echo 'exit 0' >tools/real.sh && echo new >tools/new`)
	tip := r.mustBring(1).To
	for name, test := range map[string]struct{ patterns, command []string }{
		"by the command":        {nil, git.CommandFiles("sh check.sh")},
		"by a pattern":          {[]string{"tests/"}, nil},
		"a folder by a pattern": {[]string{"ci/"}, nil},
	} {
		_, changed, err := r.store.TrustedTree(r.ctx(), tip, test.patterns, test.command)
		if err != nil || !strings.Contains(strings.Join(changed, " "), "M tools/real.sh") {
			t.Errorf("%s: %q, %v", name, changed, err)
		}
	}
	files, err := r.store.TrustedFiles(r.ctx(), nil, git.CommandFiles("cd x && sh check.sh"))
	if err != nil || strings.Join(files, " ") != "tools/real.sh" {
		t.Errorf("the files are %q, %v", files, err)
	}
}

// A work tree for people is not moved over files of theirs, ignored ones too.
func TestWorktreesKeepIgnoredFiles(t *testing.T) {
	r := newRig(t, `printf '.env\nbuild\n' >.gitignore && git add -A && git commit -qm ignore`)
	dir := filepath.Join(filepath.Dir(r.user), "tree")
	must(t, r.store.Worktree(r.ctx(), dir, r.base))
	r.sh(dir, `echo mine >.env && mkdir build && echo mine >build/out`)
	for n, script := range []string{`echo agent >.env && git add -f .env && git commit -qm env`, `git rm -q .env && echo agent >build && git add -f build && git commit -qm build`} {
		r.agent("1", script)
		err := r.store.Worktree(r.ctx(), dir, r.mustBring(n+1).To)
		if err == nil || r.sh(dir, `cat .env build/out`) != "mine\nmine" {
			t.Errorf("%v; the files are %s", err, r.sh(dir, `cat .env build/* 2>&1 || :`))
		}
	}
}

// A submodule with work in it is not exchanged for a file.
func TestApplyKeepsSubmodules(t *testing.T) {
	r := newRig(t, `git init -q ../sub && echo s >../sub/s && git -C ../sub add s && git -C ../sub commit -qm s && git -c protocol.file.allow=always submodule --quiet add ../sub sub && git commit -qm sub`)
	r.sh(r.user, `echo mine >sub/mine`)
	r.agent("1", `git rm -q --cached sub && rm -rf sub && echo file >sub && git add sub && git commit -qm evil`)
	tip := r.mustBring(1).To
	_, err := r.repo.Apply(r.ctx(), git.Apply{Commit: tip, Name: "run r1", Protected: func(string) bool { return false }, Getenv: func(string) string { return "" }})
	if err == nil || r.sh(r.user, `cat sub/mine`) != "mine" {
		t.Errorf("got %v", err)
	}
}

// Where paths have a colon, which git parts folders by.
func TestPathsWithColons(t *testing.T) {
	r := newRig(t)
	odd := filepath.Join(filepath.Dir(r.user), `od:d "x"`)
	must(t, os.Rename(r.user, odd))
	r.user = odd
	program, err := git.Find()
	must(t, err)
	r.repo, err = git.Open(r.ctx(), program, odd)
	must(t, err)
	run := filepath.Join(odd, "run")
	r.store, err = git.CreateStore(r.ctx(), r.options(filepath.Join(run, "git")), false)
	must(t, err)
	r.clone = git.Clone{GitDir: filepath.Join(run, "private"), Tree: filepath.Join(run, "work")}
	must(t, r.store.Clone(r.ctx(), r.clone, r.base, ""))
	plain := filepath.Join(t.TempDir(), "objects")
	must(t, os.Symlink(r.store.Objects(), plain)) // for the clone; a sandbox has them elsewhere
	must(t, os.WriteFile(filepath.Join(r.clone.GitDir, "objects/info/alternates"), []byte(plain+"\n"), 0o644))
	r.agent("1", `echo one >one && git add one && git commit -qm one`)
	if got := r.mustBring(1); len(got.Commits) != 1 {
		t.Errorf("got %+v", got)
	}
}
