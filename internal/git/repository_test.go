package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/git"
)

// Which repositories a run works with, and what is said about the others.
func TestOpen(t *testing.T) {
	for _, test := range []struct {
		name   string
		change string // in the user's repository; $OTHER is another one of the user's
		open   string // the folder, below the user's
		why    string // it is refused; empty: it is not
		prefix string
	}{
		{"as it is", ``, ".", "", ""},
		{"a folder in it", ``, "src", "", "src"},
		{"a linked work tree", `git worktree add -q ../linked`, "../linked", "", ""},
		{"a folder in a linked work tree", `git worktree add -q ../linked`, "../linked/src", "", "src"},
		{"a submodule", `git -c protocol.file.allow=always submodule --quiet add "$OTHER" sub`, "sub", "", ""},
		{"a separate git directory", `git init -q --separate-git-dir=../elsewhere`, ".", "does not know this folder", ""},
		{"a .git file that points to another repository", `rm -rf .git && echo "gitdir: $OTHER/.git" >.git`, ".", "does not know this folder", ""},
		{"a .git file that says nothing", `rm -rf .git && echo hello >.git`, ".", "does not say where", ""},
		{"a .git that is a link", `mv .git ../moved && ln -s ../moved .git`, ".", "neither a folder nor a plain file", ""},
		{"objects of another repository, by alternates", `echo "$OTHER/.git/objects" >.git/objects/info/alternates`, ".", "borrows objects", ""},
		{"objects of another repository, by a link", `rm -rf .git/objects && ln -s "$OTHER/.git/objects" .git/objects`, ".", "link or no folder", ""},
		{"packs of another repository, by a link", `rm -rf .git/objects/pack && ln -s "$OTHER/.git/objects/pack" .git/objects/pack`, ".", "link or no folder", ""},
		{"refs of another repository, by a link", `rm -rf .git/refs && ln -s "$OTHER/.git/refs" .git/refs`, ".", "link or no folder", ""},
		{"an admin folder of its own that leads to another repository", `mkdir adm && echo 'gitdir: adm' >adm/file && rm -rf .git && mv adm/file .git && echo ../.git >adm/gitdir && echo 'ref: refs/heads/main' >adm/HEAD && echo "$OTHER/.git" >adm/commondir`, ".", "does not know of it", ""},
		{"loose objects of another repository", `rm -rf .git/objects/?? && for d in "$OTHER"/.git/objects/??; do ln -s "$d" .git/objects/; done`, ".", "link or no plain file", ""},
		{"a loose object of another repository", `f=$(ls -d .git/objects/??/* | head -n 1) && rm -f "$f" && ln -s "$OTHER/README" "$f"`, ".", "link or no plain file", ""},
		{"a pack of another repository", `git -C "$OTHER" repack -qad && ln -s "$OTHER"/.git/objects/pack/*.pack .git/objects/pack/`, ".", "link or no plain file", ""},
		{"branches of another repository", `rm -rf .git/refs/heads && ln -s "$OTHER/.git/refs/heads" .git/refs/heads`, ".", "link or no plain file", ""},
		{"a log that is a link", `rm .git/logs/HEAD && ln -s "$OTHER/precious" .git/logs/HEAD`, ".", "link or no plain file", ""},
		{"packed refs that are a link", `ln -s "$OTHER/x" .git/packed-refs`, ".", "link or no plain file", ""},
		{"a shallow file that is a link", `ln -s "$OTHER/x" .git/shallow`, ".", "link or no plain file", ""},
		{"a shallow file that is a pipe", `mkfifo .git/shallow`, ".", "link or no plain file", ""},
		{"packed refs that are a pipe", `mkfifo .git/packed-refs`, ".", "link or no plain file", ""},
		{"a configuration that is a pipe", `rm .git/config && mkfifo .git/config`, ".", "link or no plain file", ""},
		{"a partial clone", `git config core.repositoryformatversion 1 && git config extensions.partialClone origin`, ".", "partial clone", ""},
		{"an extension of the future", `git config core.repositoryformatversion 1 && git config extensions.telepathy true`, ".", "telepathy", ""},
		{"refs in tables", `git config core.repositoryformatversion 1 && git config extensions.refStorage reftable`, ".", "reftable", ""},
		{"a configuration that includes another", `echo "[include] path = /etc/passwd" >>.git/config`, ".", "", ""},
		{"a broken configuration", `echo "[[" >>.git/config`, ".", "config", ""},
		{"an empty .git, as that of the folder above", `mkdir src/.git`, "src", "", "src"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := &rig{t: t, user: filepath.Join(t.TempDir(), "user")}
			other := t.TempDir()
			must(t, os.MkdirAll(r.user, 0o755))
			for _, dir := range []string{other, r.user} {
				r.sh(dir, `git init -q -b main . && mkdir src && echo x >src/x && git add -A && git commit -qm first`)
			}
			r.sh(r.user, test.change, "OTHER="+other)
			program, err := git.Find()
			must(t, err)
			folder, err := filepath.EvalSymlinks(filepath.Join(r.user, test.open))
			must(t, err)
			got, err := git.Open(r.ctx(), program, folder)
			switch {
			case test.why == "" && (err != nil || got.Prefix != test.prefix):
				t.Errorf("got %+v, %v", got, err)
			case test.why != "" && (err == nil || !strings.Contains(err.Error(), test.why)):
				t.Errorf("got %v, want %q", err, test.why)
			}
			if test.why != "" {
				return
			}
			if head, err := got.Resolve(r.ctx(), "HEAD"); err != nil || len(head) != 40 {
				t.Errorf("HEAD is %q, %v", head, err)
			}
		})
	}
}

func TestNoRepository(t *testing.T) {
	program, err := git.Find()
	must(t, err)
	if _, err := git.Open(t.Context(), program, t.TempDir()); !errors.Is(err, git.ErrNone) {
		t.Errorf("got %v", err)
	}
}

// Whole runs of kinds of repositories that are read in another way.
func TestKindsOfRepositories(t *testing.T) {
	for _, test := range []struct{ name, change string }{
		{"object names by SHA-256", `rm -rf .git && git init -q -b main --object-format=sha256 . && git add -A && git commit -qm first`},
		{"shallow", `git commit -q --allow-empty -m second && cd .. && git clone -q --depth 1 "file://$PWD/user" shallow && rm -rf user && mv shallow user`},
		{"packed refs", `git tag v1 && git pack-refs --all`},
		{"a detached head", `git checkout -q --detach`},
		{"a submodule in it", `git init -q ../sub && git -C ../sub commit -q --allow-empty -m s && git -c protocol.file.allow=always submodule --quiet add ../sub sub && git commit -qm sub`},
		{"replace refs and grafts", `git commit -q --allow-empty -m second && git replace HEAD HEAD~1 && git rev-parse HEAD >.git/info/grafts`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, test.change)
			r.agent("1", `echo one >one && git add one && git commit -qm one && git log --oneline`)
			if got := r.mustBring(1); len(got.Commits) != 1 || got.Held != "" {
				t.Fatalf("got %+v", got)
			}
			if said := r.sh(r.user, `git fsck && git rev-parse `+branch+`~1`, "GIT_NO_REPLACE_OBJECTS=1"); !strings.HasSuffix(said, r.base) {
				t.Errorf("git says %s", said)
			}
		})
	}
}

func TestBranches(t *testing.T) {
	for name, good := range map[string]bool{
		"ralph/x": true, "a": true, "feature/überarbeitung": true, "a.b": true,
		"": false, "-x": false, "a b": false, "a..b": false, "a/": false, "/a": false, "a//b": false, ".a": false, "a/.b": false,
		"a.lock": false, "a.lock/b": false, "a~b": false, "a^b": false, "a:b": false, "a?b": false, "a*b": false, "a[b": false, `a\b`: false,
		"a\x7fb": false, "a\nb": false, "@": false, "a@{b": false, "HEAD": false, "a.": false, strings.Repeat("a", 201): false, "a\u202eb": false,
	} {
		if err := git.CheckBranch(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"main", "main", true}, {"main", "main2", false}, {"release/*", "release/1/x", true}, {"release/*", "release", false},
		{"*", "anything/at/all", true}, {"v?", "v1", true}, {"v?", "v12", false}, {"a*b*c", "a--b--c", true}, {"a*b*c", "a--c", false},
	} {
		if got := git.MatchBranch([]string{"other", test.pattern}, test.name); got != test.want {
			t.Errorf("%q matches %q: %t", test.pattern, test.name, got)
		}
	}
}

func TestBranchesThatCannotBe(t *testing.T) {
	r := newRig(t, `git branch ralph-old && git branch deep/er/still`)
	for name, why := range map[string]string{"ralph-old/x": "there is a branch ralph-old", "deep": "branches below", "deep/er": "branches below", "deep/other": "", "new": ""} {
		err := r.repo.CheckFree(r.ctx(), name)
		if why == "" && err != nil || why != "" && (err == nil || !strings.Contains(err.Error(), why)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A branch that somebody else has a hand on is left alone; the commits are kept.
func TestHeldBranches(t *testing.T) {
	for _, test := range []struct{ name, change, why string }{
		{"moved by another", `git update-ref refs/heads/` + branch + ` $(git commit-tree -p HEAD -m mine HEAD^{tree})`, "moved by somebody else"},
		{"deleted", `git branch -q -D ` + branch, "was deleted"},
		{"checked out", `git checkout -q ` + branch, "checked out in"},
		{"checked out in another work tree", `git worktree add -q ../w ` + branch, "checked out in"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.agent("1", `echo 1 >f && git add f && git commit -qm one`)
			r.mustBring(1)
			r.sh(r.user, test.change)
			r.agent("2", `echo 2 >f && git commit -qam two`)
			got := r.mustBring(2)
			if !strings.Contains(got.Held, test.why) {
				t.Fatalf("got %+v", got)
			}
			if kept := r.sh(r.user, `git rev-parse refs/ralph-runs/`+runID); kept != got.To {
				t.Errorf("kept is %s, want %s", kept, got.To)
			}
		})
	}
	r := newRig(t)
	r.agent("1", `echo 1 >f && git add f && git commit -qm one`)
	r.mustBring(1)
	r.sh(r.user, `git checkout -q `+branch)
	r.agent("2", `git commit -q --amend -m another`)
	r.mustBring(2)
	r.sh(r.user, `git checkout -q main`)
	if got := r.mustBring(3); got.Held != "" || r.sh(r.user, `git rev-parse `+branch) != got.To {
		t.Errorf("when it is free again: %+v", got)
	}
}
