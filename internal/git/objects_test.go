package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/git"
)

// What a sandbox gets to see of the user's objects: the history of the base, and
// other things only as far as they are in the same packs.
func TestWhatIsShared(t *testing.T) {
	secret := `echo secret >secret && git add secret && git rev-parse :secret >../oid && git reset -q && rm secret`
	stash := `echo stashed >README && git rev-parse HEAD >/dev/null && git hash-object README >../oid && git stash -q`
	branch := `git checkout -q -b other && echo other >other && git add other && git commit -qm other && git rev-parse HEAD:other >../oid && git checkout -q main`
	for _, test := range []struct {
		name    string
		changes []string
		copied  bool
		there   bool
	}{
		{"what was staged and dropped", []string{`git repack -qad`, secret}, false, false},
		{"a stash", []string{`git repack -qad`, stash}, false, false},
		{"another branch, loose", []string{`git repack -qad`, branch}, false, false},
		{"another branch, packed", []string{branch, `git repack -qad`}, false, true},
		{"another branch, packed, not shared", []string{branch, `git repack -qad`}, true, false},
		{"unreachable objects, packed apart", []string{secret, `git repack -qd --cruft --cruft-expiration=never`}, false, false},
		{"the base's own, loose", []string{`git rev-parse HEAD:README >../oid`}, false, true},
		{"the base's own, packed", []string{`git rev-parse HEAD:README >../oid && git repack -qad`}, false, true},
		{"the base's own, not shared", []string{`git rev-parse HEAD:README >../oid && git repack -qad`}, true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, test.changes...)
			oid, err := os.ReadFile(filepath.Join(filepath.Dir(r.user), "oid"))
			must(t, err)
			store := r.store
			if test.copied {
				store, err = git.CreateStore(r.ctx(), r.options(filepath.Join(t.TempDir(), "git")), false)
				must(t, err)
			}
			has := r.sh(store.Dir, `git --git-dir=. cat-file -e `+strings.TrimSpace(string(oid))+` 2>/dev/null && echo yes || echo no`)
			if (has == "yes") != test.there {
				t.Errorf("the object is there: %s", has)
			}
			if missing := r.sh(store.Dir, `git --git-dir=. rev-list --objects --missing=print `+r.base+` | grep '^?' || :`); missing != "" {
				t.Errorf("of the base's history there is missing: %s", missing)
			}
		})
	}
}

// A gc of the user's, and even the loss of the repository's packs, does not take the
// base away from a run.
func TestSharedPacksOutliveAGC(t *testing.T) {
	r := newRig(t, `git repack -qad`)
	r.sh(r.user, `echo more >more && git add more && git commit -qm more && git repack -qadf --window=1 && git prune-packed`)
	r.agent("1", `echo work >work && git add work && git commit -qm work`)
	if got := r.mustBring(1); len(got.Commits) != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestWhereLinksCannotBeMade(t *testing.T) {
	shm := "/dev/shm"
	if info, err := os.Stat(shm); err != nil || !info.IsDir() {
		t.Skip("there is no second file system here")
	}
	dir, err := os.MkdirTemp(shm, "ralph-test-")
	if err != nil {
		t.Skip("the second file system cannot be written:", err)
	}
	defer os.RemoveAll(dir)
	r := newRig(t, `git repack -qad`)
	store, err := git.CreateStore(r.ctx(), r.options(filepath.Join(dir, "git")), true)
	must(t, err)
	must(t, store.Clone(r.ctx(), git.Clone{GitDir: filepath.Join(dir, "private"), Tree: filepath.Join(dir, "work")}, r.base, ""))
	if text, err := os.ReadFile(filepath.Join(dir, "work/README")); err != nil || string(text) != "hello\n" {
		t.Errorf("README is %q, %v", text, err)
	}
}
