package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/git"
)

// Lines end as the user wants, wherever that is said.
func TestApplyLineEndings(t *testing.T) {
	home := t.TempDir()
	for name, test := range map[string]struct{ setup, global, want string }{
		"as they are":            {want: "a\nb\n"},
		"by the repository":      {setup: `git config core.autocrlf true`, want: "a\r\nb\r\n"},
		"by the user":            {global: "[core]\n\tautocrlf = true\n", want: "a\r\nb\r\n"},
		"the repository is last": {setup: `git config core.autocrlf input`, global: "[core]\n\tautocrlf = true\n", want: "a\nb\n"},
		"by attributes":          {setup: `echo '*.txt text eol=crlf' >.git/info/attributes`, want: "a\r\nb\r\n"},
		"by eol":                 {setup: `git config core.eol crlf; echo '*.txt text' >.git/info/attributes`, want: "a\r\nb\r\n"},
		"by the work tree":       {setup: `git config extensions.worktreeConfig true; git config --worktree core.autocrlf true`, want: "a\r\nb\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, `printf 'a\n' >x.txt; git add -A; git commit -qm x`)
			tip := r.work(`printf 'a\nb\n' >x.txt`)
			global := filepath.Join(home, strings.ReplaceAll(name, " ", "-"))
			must(t, os.WriteFile(global, []byte(test.global), 0o600))
			r.sh(r.user, test.setup+`
				rm x.txt; git checkout x.txt`, "GIT_CONFIG_GLOBAL="+global)
			r.mustApply(git.Apply{Commit: tip, Getenv: func(name string) string {
				if name == "GIT_CONFIG_GLOBAL" {
					return global
				}
				return getenv(name)
			}})
			if is, _ := os.ReadFile(filepath.Join(r.user, "x.txt")); string(is) != test.want {
				t.Errorf("got %q", is)
			}
			if status := r.sh(r.user, `git status --porcelain`, "GIT_CONFIG_GLOBAL="+global); status != "" {
				t.Errorf("git says %s", status)
			}
		})
	}
}

// Modes and links that the file system cannot hold are not written, nor missed.
func TestApplyFileModeAndSymlinks(t *testing.T) {
	r := newRig(t, `printf x >tool; git add -A; git commit -qm x; git config core.fileMode false; git config core.symlinks false; chmod +x README`)
	tip := r.work(`echo more >>README; ln -s README link`)
	r.mustApply(git.Apply{Commit: tip})
	r.clean(r.user)
	if info, err := os.Lstat(filepath.Join(r.user, "link")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the link is %v, %v", info, err)
	}
}

// Indexes come in several kinds. None of them makes git run or lose anything.
func TestApplyIndexKinds(t *testing.T) {
	for name, setup := range map[string]string{
		"split":           `git update-index --split-index; echo s >s; git add s; git commit -qm s; ls .git/sharedindex.*`,
		"untracked cache": `git update-index --force-untracked-cache; git status`,
		"version 4":       `git update-index --index-version 4`,
		"assume":          `git update-index --assume-unchanged src/a.go`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			tip := r.work(`echo more >>README; mkdir n; echo n >n/n`)
			r.sh(r.user, setup)
			r.mustApply(git.Apply{Commit: tip})
			r.clean(r.user)
			if is := r.sh(r.user, `echo u >u; git status --porcelain`); is != "?? u" {
				t.Errorf("git says %s", is)
			}
		})
	}
}

// An index can say that a monitor knows which files have changed.
func TestApplyAsksNoMonitor(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "ran")
	r := newRig(t)
	tip := r.work(`echo more >>README`)
	must(t, os.WriteFile(filepath.Join(r.user, ".git/monitor"), []byte("#!/bin/sh\ntouch "+canary+"\nprintf 'token\\0'\n"), 0o755))
	r.sh(r.user, `git config core.fsmonitor .git/monitor; git update-index --fsmonitor; git status; rm `+canary)
	r.sh(r.user, `echo mine >>README`) // the monitor does not tell
	if _, err := r.apply(git.Apply{Commit: tip}); err == nil || exists(canary) {
		t.Errorf("got %v, ran %v", err, exists(canary))
	}
	r.sh(r.user, `echo hello >README`)
	r.mustApply(git.Apply{Commit: tip})
	if exists(canary) {
		t.Error("the monitor ran")
	}
	if r.sh(r.user, `git status`); !exists(canary) {
		t.Error("the trap is not live")
	}
}

// The user's configuration and the tree name programs; none of them runs.
func TestApplyRunsNothing(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "ran")
	touch := "touch " + canary
	r := newRig(t, `echo '*.c filter=f merge=f diff=f' >.gitattributes; seq 20 >m.c; git add -A; git commit -qm a
		mkdir .githooks`)
	tip := r.work(`echo more >>README; seq 21 >n; mkdir -p .githooks; printf '#!/bin/sh\n` + touch + `\n' >.githooks/post-merge; chmod +x .githooks/post-merge`)
	r.sh(r.user, `for h in post-merge post-checkout pre-commit pre-merge-commit commit-msg prepare-commit-msg post-commit post-index-change reference-transaction; do
			printf '#!/bin/sh\n`+touch+`\n' >.git/hooks/$h; chmod +x .git/hooks/$h; done
		echo mine >mine; git add mine; git -c core.hooksPath=/dev/null commit -qm mine
		git config filter.f.clean '`+touch+`; cat'; git config filter.f.smudge '`+touch+`; cat'; git config filter.f.required true
		git config merge.f.driver '`+touch+`'; git config diff.f.textconv '`+touch+`; cat'; git config diff.external '`+touch+`'
		git config core.fsmonitor '`+touch+`'; git config core.editor '`+touch+`'; git config core.pager '`+touch+`'
		git config gpg.program '`+touch+`'; git config commit.gpgSign true; touch -d '1 hour ago' m.c`)
	if _, err := os.Lstat(canary); err == nil {
		must(t, os.Remove(canary)) // plain git falls for it, which shows that the traps are live
	}
	if got := r.mustApply(git.Apply{Commit: tip}); got.FastForward || got.Nothing {
		t.Errorf("got %+v", got)
	}
	if _, err := os.Lstat(canary); err == nil {
		t.Error("something ran")
	}
	if r.sh(r.user, `git status >/dev/null`); !exists(canary) {
		t.Error("the traps are not live: plain git runs nothing either")
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// A submodule is another repository, with a configuration that nobody looked at.
func TestApplyWithSubmodule(t *testing.T) {
	canary := filepath.Join(t.TempDir(), "ran")
	other := t.TempDir()
	r := newRig(t)
	r.sh(other, `git init -q -b main . && echo a >a && git add a && git commit -qm a && echo b >a && git commit -qam b`)
	r.sh(r.user, `git -c protocol.file.allow=always submodule --quiet add `+other+` sub && git -C sub checkout -q HEAD~ && git add -A && git commit -qm sub`)
	r.open()
	tip := r.work(`echo more >>README; git add README; git update-index --cacheinfo 160000,` + r.sh(other, `git rev-parse main`) + `,sub; git commit -qm sub`)
	r.sh(r.user, `git -C sub config core.fsmonitor 'touch `+canary+`; :'; git config submodule.recurse true; git config diff.submodule log
		git -C sub config filter.f.clean 'touch `+canary+`; cat'; echo '* filter=f' >.git/modules/sub/info/attributes; touch -d '1 hour ago' sub/a`)
	got := r.mustApply(git.Apply{Commit: tip})
	if got.Files != 2 || exists(canary) {
		t.Errorf("got %+v, ran %v", got, exists(canary))
	}
	if is := r.sh(r.user, `cat sub/a; git ls-files -s sub | cut -c8-47`); is != "a\n"+r.sh(other, `git rev-parse main`) {
		t.Errorf("the submodule is %s", is)
	}
	if r.sh(r.user, `git status >/dev/null`); !exists(canary) {
		t.Error("the trap is not live")
	}
}
