//go:build unix

package git_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/git"
	"github.com/agent-loop/ralph/internal/gittrap"
)

// bombBytes is more than a file of the rig may have, and small enough for a test.
const bombBytes = "BOMB_BYTES=16777216"

// patience is far more than any import here needs, and far less than what ends one
// that does not end by itself.
const patience = time.Minute

// TestCraftedCommits: whatever an agent forges, it is refused with a reason or does
// no harm, and the run goes on with honest work.
func TestCraftedCommits(t *testing.T) {
	taken := make(chan string, 200)
	t.Run("each", func(t *testing.T) {
		for _, crafted := range gittrap.CraftedCommits() {
			t.Run(crafted.Name, func(t *testing.T) {
				t.Parallel()
				r := newTrapRig(t)
				tree := r.hostileTree()
				r.sh(tree, crafted.Make, "CANARY=/nonexistent", bombBytes)
				before := r.userState()
				got, err := r.importWithin(r.forgedBundle(tree))
				if r.judge(crafted, before, got, err) {
					taken <- crafted.Name
				}
				if strings.HasPrefix(crafted.Name, "refs-") {
					r.refusesItsRefs(tree)
				}
				r.honestWorkStillComes()
			})
		}
	})
	close(taken)
	var names []string
	for name := range taken {
		names = append(names, name)
	}
	t.Logf("%d of %d crafted commits are taken: %v", len(names), len(gittrap.CraftedCommits()), names)
}

// TestBombsOfThePast: what nobody could look through is not taken within a history
// either, though the last commit is harmless.
func TestBombsOfThePast(t *testing.T) {
	for _, name := range []string{"tree-bomb", "tree-deep", "path-long", "blob-bomb"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTrapRig(t)
			tree := r.hostileTree()
			i := slices.IndexFunc(gittrap.CraftedCommits(), func(c gittrap.Crafted) bool { return c.Name == name })
			r.sh(tree, gittrap.CraftedCommits()[i].Make+"\ngit update-ref HEAD \"$(git commit-tree -m harmless -p HEAD "+r.base+"^{tree})\"", "CANARY=/nonexistent", bombBytes)
			_, err := r.importWithin(r.forgedBundle(tree))
			var refused *git.BadImportError
			if !errors.As(err, &refused) {
				t.Errorf("got %v, want a refusal", err)
			}
		})
	}
}

// newTrapRig is a rig whose user has the files that crafted commits expect.
func newTrapRig(t *testing.T) *rig {
	t.Helper()
	return newRig(t, "for f in "+strings.Join(gittrap.Files(), " ")+`; do echo "one of $f" >$f; done; git add -A; git commit -qm files`)
}

// hostileTree is a work tree as the sandbox has it, with a git directory that knows
// the store.
func (r *rig) hostileTree() string {
	r.t.Helper()
	tree := filepath.Join(r.t.TempDir(), "tree")
	must(r.t, os.CopyFS(filepath.Join(tree, ".git"), os.DirFS(r.clone.GitDir)))
	must(r.t, os.WriteFile(filepath.Join(tree, ".git/objects/info/alternates"), []byte(r.store.Objects()+"\n"), 0o600))
	r.sh(tree, "git config core.hooksPath /dev/null; git reset -q --hard")
	return tree
}

// forgedBundle is what a sandbox sends that need not use an honest git: objects that
// nobody looked at, behind a header as it is wanted.
func (r *rig) forgedBundle(tree string) []byte {
	r.t.Helper()
	tip := r.sh(tree, `cat ".git/$(git symbolic-ref HEAD)"`)
	return forged(tip, tip+" refs/heads/"+branch, r.packOf(tree))
}

// forged joins what a sandbox says and the objects that it sends.
func forged(tip, refs string, pack []byte) []byte {
	return append([]byte("tip "+tip+"\n# v2 git bundle\n"+refs+"\n\n"), pack...)
}

// packOf packs the objects of a tree that the store does not have.
func (r *rig) packOf(tree string) []byte {
	r.t.Helper()
	file := filepath.Join(r.t.TempDir(), "pack")
	r.sh(tree, `unset GIT_ALTERNATE_OBJECT_DIRECTORIES
find .git/objects -type f -path '*/??/*' | sed 's|.*/\(..\)/|\1|' >"$PACK.list"
for i in .git/objects/pack/*.idx; do [ ! -e "$i" ] || git show-index <"$i" | cut -d' ' -f2 >>"$PACK.list"; done
git pack-objects -q --stdout <"$PACK.list" >"$PACK"`, "PACK="+file)
	pack, err := os.ReadFile(file)
	must(r.t, err)
	return pack
}

// importWithin imports, and fails the test if that does not end by itself.
func (r *rig) importWithin(sent []byte) (git.Import, error) {
	r.t.Helper()
	began := time.Now()
	got, err := r.store.Import(r.ctx(), bytes.NewReader(sent), 1, func(string) bool { return false })
	if took := time.Since(began); took > patience {
		r.t.Errorf("the import took %v", took)
	}
	return got, err
}

// userState is all of the user's repository that an import could change, but for the
// run's own refs.
func (r *rig) userState() string {
	r.t.Helper()
	return r.sh(r.user, `git for-each-ref | grep -v -e refs/heads/`+branch+` -e refs/ralph-runs/`+runID+` || :
git symbolic-ref HEAD; cat .git/config; ls -A .git .git/hooks | grep -v -e '^logs$' -e '^index$'; git status --porcelain; git fsck --strict 2>&1 | grep -v "^warning" || :`)
}

// judge holds the result of an import against what it must be. It tells whether the
// commit was taken.
func (r *rig) judge(crafted gittrap.Crafted, before string, got git.Import, err error) bool {
	r.t.Helper()
	var refused *git.BadImportError
	if err != nil && !errors.As(err, &refused) {
		r.t.Errorf("the error is no reason: %v", err)
	}
	if err == nil && crafted.Refuse {
		r.t.Errorf("it is taken: %+v", got)
	}
	if after := r.userState(); after != before {
		r.t.Errorf("the user's repository was\n%s\nand is\n%s", before, after)
	}
	own := r.sh(r.user, "git for-each-ref refs/heads/"+branch+" refs/ralph-runs")
	if err == nil {
		r.staysInside(got.To)
		return true
	}
	if own != "" {
		r.t.Errorf("refused, and yet there is\n%s", own)
	}
	if strings.ContainsFunc(err.Error(), func(c rune) bool { return c < ' ' || c == 0x7f }) || len(err.Error()) > 8<<10 {
		r.t.Errorf("the reason cannot be shown: %.300q", err)
	}
	return false
}

// staysInside checks out what was taken, and looks at what lies beside it.
func (r *rig) staysInside(commit string) {
	r.t.Helper()
	beside := r.t.TempDir()
	deep := filepath.Join(beside, "1/2/3/4/5")
	must(r.t, os.MkdirAll(deep, 0o755))
	must(r.t, r.store.Clone(r.ctx(), git.Clone{GitDir: filepath.Join(deep, "git"), Tree: filepath.Join(deep, "work")}, commit, ""))
	if all := r.sh(beside, "find . -mindepth 6 -maxdepth 6; find . -maxdepth 5 -mindepth 5; find . -name outside -not -type l"); all != "./1/2/3/4/5/git\n./1/2/3/4/5/work\n./1/2/3/4/5" {
		r.t.Errorf("beside the checkout there is\n%s", all)
	}
}

// refusesItsRefs sends all refs of a tree, of which only one is wanted.
func (r *rig) refusesItsRefs(tree string) {
	r.t.Helper()
	file := filepath.Join(r.t.TempDir(), "bundle")
	r.sh(tree, gittrap.BundleScript, "BUNDLE="+file)
	bundle, err := os.ReadFile(file)
	must(r.t, err)
	before := r.userState()
	_, err = r.importWithin(append([]byte("tip "+r.sh(tree, "git rev-parse HEAD")+"\n"), bundle...))
	var refused *git.BadImportError
	if !errors.As(err, &refused) {
		r.t.Errorf("its refs are taken: %v", err)
	}
	if after := r.userState(); after != before {
		r.t.Errorf("the user's repository was\n%s\nand is\n%s", before, after)
	}
}

// honestWorkStillComes does an honest commit on a new clone.
func (r *rig) honestWorkStillComes() {
	r.t.Helper()
	dir := r.t.TempDir()
	r.clone = git.Clone{GitDir: filepath.Join(dir, "private"), Tree: filepath.Join(dir, "work")}
	tip, err := r.store.SandboxTip(r.ctx())
	must(r.t, err)
	must(r.t, r.store.Clone(r.ctx(), r.clone, tip, ""))
	r.agent("2", "echo honest >honest-work && git add honest-work && git commit -qm 'Honest work'")
	if got, err := r.bring(2); err != nil || len(got.Commits) != 1 || got.Held != "" {
		r.t.Errorf("honest work: %+v, %v", got, err)
	}
	if text := r.sh(r.user, "git cat-file blob "+branch+":honest-work; git fsck --strict 2>&1 | grep -v -e '^dangling' -e '^warning' || :"); text != "honest" {
		r.t.Errorf("honest work came as %q", text)
	}
}
