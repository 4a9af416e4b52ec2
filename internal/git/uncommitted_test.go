package git_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/git"
)

// canary is a program that leaves a trace when something runs it.
func canary(t *testing.T) (program, trace string) {
	t.Helper()
	dir := t.TempDir()
	program, trace = filepath.Join(dir, "canary"), filepath.Join(dir, "trace")
	must(t, os.WriteFile(program, []byte("#!/bin/sh\necho \"$0 $*\" >>"+trace+"\ncat\n"), 0o755))
	return program, trace
}

func checkNoTrace(t *testing.T, trace string) {
	t.Helper()
	if text, err := os.ReadFile(trace); err == nil {
		t.Errorf("it was run: %s", text)
	}
}

func TestUncommitted(t *testing.T) {
	tests := map[string]struct {
		change             string
		changed, untracked int
		some               string
	}{
		"nothing":            {change: `true`},
		"touched":            {change: `touch -d '2 hours ago' README`},
		"changed":            {change: `echo x >>README`, changed: 1, some: "README"},
		"same size":          {change: `printf 'HELLO\n' >README`, changed: 1, some: "README"},
		"mode":               {change: `chmod +x README`, changed: 1, some: "README"},
		"mode, not counting": {change: `git config core.fileMode false; chmod +x README`},
		"staged":             {change: `echo x >>README; git add README; mkdir n; echo >n/new; git add n`, changed: 2, some: "README n/new"},
		"staged and undone":  {change: `echo x >>README; git add README; echo hello >README`, changed: 1, some: "README"},
		"deleted":            {change: `rm src/a.go`, changed: 1, some: "src/a.go"},
		"renamed":            {change: `git mv README LIESMICH`, changed: 2, some: "LIESMICH README"},
		"no index":           {change: `rm .git/index`, changed: 2, untracked: 2, some: "README src/a.go README src/"},
		"untracked":          {change: `mkdir d; echo >d/1; echo >d/2; echo >src/b`, untracked: 2, some: "d/ src/b"},
		"ignored":            {change: `echo '*.o' >>.git/info/exclude; echo >a.o; mkdir .ralph; echo >.ralph/x`},
		"ignored by a file":  {change: `printf '*.o\n.gitignore\n' >.gitignore; echo >a.o`},
		"line endings":       {change: `git config core.autocrlf true; rm README; git checkout README; grep -q "$(printf '\r')" README; touch -d '2 hours ago' README`},
		"terminal sequences": {change: "echo >$(printf 'a\\033[2Jb')", untracked: 1, some: "a[2Jb"},
		"many":               {change: `for i in 10 11 12 13 14 15 16 17 18 19 20 21; do echo >$i; done`, untracked: 12, some: "10 11 12 13 14 15 16 17 18 19"},
		"split index":        {change: `git update-index --split-index; echo x >>README; git add README`, changed: 1, some: "README"},
		"sparse":             {change: `git sparse-checkout set --cone --sparse-index src; echo x >>src/a.go`, changed: 1, some: "src/a.go"},
		"nested repository":  {change: `git init -q n; echo >n/x`, untracked: 1, some: "n/"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.sh(r.user, test.change)
			r.checkUncommitted(r.repo, test.changed, test.untracked, test.some)
		})
	}
}

func (r *rig) checkUncommitted(repo *git.Repository, changed, untracked int, some string) {
	r.t.Helper()
	index := readAll(filepath.Join(repo.Dir, "index"))
	got, err := repo.Uncommitted(r.ctx())
	must(r.t, err)
	if got.Changed != changed || got.Untracked != untracked || strings.Join(got.Some, " ") != some {
		r.t.Errorf("got %+v, want %d changed, %d untracked, %s", got, changed, untracked, some)
	}
	if readAll(filepath.Join(repo.Dir, "index")) != index {
		r.t.Errorf("the index was written")
	}
}

func readAll(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

func TestUncommittedOfALinkedWorkTree(t *testing.T) {
	r := newRig(t, `git worktree add -q ../linked`)
	linked := filepath.Join(filepath.Dir(r.user), "linked")
	r.sh(linked, `echo x >>README; git add README`)
	program, err := git.Find()
	must(t, err)
	repo, err := git.Open(r.ctx(), program, linked)
	must(t, err)
	r.checkUncommitted(repo, 1, 0, "README")
	r.checkUncommitted(r.repo, 0, 0, "")
}

// What the user's configuration and the files name is not run. Each of it is, when
// the user asks git itself.
func TestUncommittedRunsNothing(t *testing.T) {
	traps := map[string]string{
		"filter":    `echo '*.bin filter=x' >.gitattributes; echo 1 >a.bin; git add -A; git commit -qm bin; git config filter.x.clean "$CANARY"; echo 2 >a.bin`,
		"fsmonitor": `git config core.fsmonitor "$CANARY"; git update-index --fsmonitor || true`,
		"submodule": `git init -q sub; git -C sub commit -qm x --allow-empty; git add sub 2>/dev/null; git commit -qm sub; git -C sub config core.fsmonitor "$CANARY"; echo >sub/x`,
	}
	for name, trap := range traps {
		t.Run(name, func(t *testing.T) {
			program, trace := canary(t)
			r := newRig(t)
			r.sh(r.user, trap, "CANARY="+program)
			_ = os.Remove(trace)
			r.checkUncommitted(r.repo, 0, 0, "")
			checkNoTrace(t, trace)
			r.sh(r.user, `git status`)
			if _, err := os.Stat(trace); err != nil {
				t.Errorf("the trap is dead: %v", err)
			}
		})
	}
}

func TestUncommittedRefusesAnIndexThatIsNone(t *testing.T) {
	r := newRig(t, `mv .git/index .git/real; ln -s real .git/index`)
	if got, err := r.repo.Uncommitted(r.ctx()); err == nil {
		t.Errorf("got %+v", got)
	}
}

func TestPeculiar(t *testing.T) {
	tests := map[string]struct {
		change          string
		submodules, lfs int
	}{
		"neither":      {change: `true`},
		"submodules":   {change: `for s in a b/c; do git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),$s; done`, submodules: 2},
		"lfs":          {change: `echo '*.bin filter=lfs diff=lfs' >.gitattributes; echo 1 >a.bin; echo 2 >src/b.bin; echo >c.txt; git add -A`, lfs: 2},
		"in a folder":  {change: `echo '*.go filter=lfs' >src/.gitattributes; git add -A`, lfs: 1},
		"taken back":   {change: `echo '*.go filter=lfs' >.gitattributes; echo '*.go -filter' >src/.gitattributes; git add -A`},
		"other filter": {change: `echo '*.go filter=x' >.gitattributes; git add -A`},
		"uncommitted":  {change: `git commit -q --allow-empty -m x; echo '*.go filter=lfs' >.gitattributes`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, test.change, `git commit -q --allow-empty -m change`)
			submodules, lfs, err := r.repo.Peculiar(r.ctx(), r.base)
			must(t, err)
			if submodules != test.submodules || lfs != test.lfs {
				t.Errorf("%d submodules and %d LFS files, want %d and %d", submodules, lfs, test.submodules, test.lfs)
			}
		})
	}
	r := newRig(t)
	if _, _, err := r.repo.Peculiar(r.ctx(), strings.Repeat("1", 40)); err == nil {
		t.Error("a commit that is not there was looked at")
	}
}

// A file that changed at the very time at which the index was written looks unchanged,
// but for the index being no younger than it: the copy must not be younger either.
func TestUncommittedKeepsTheTimeOfTheIndex(t *testing.T) {
	r := newRig(t)
	r.sh(r.user, `git config core.trustctime false; printf 'one\n' >f; touch -d @1700000000 f; git add f; git commit -qm f; touch -d @1700000000 .git/index; printf 'two\n' >f; touch -d @1700000000 f`)
	got, err := r.repo.Uncommitted(r.ctx())
	must(t, err)
	if !slices.Equal(got.Some, []string{"f"}) || got.Changed != 1 {
		t.Errorf("got %+v", got)
	}
}

func writeText(path, text string) error { return os.WriteFile(path, []byte(text), 0o644) }
