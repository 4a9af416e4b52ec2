//go:build unix

package git_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/git"
)

// sent is what a sandbox with one honest commit has to send.
type sent struct {
	tip, base string
	pack      []byte
	tree      string // where objects can be made
	rig       *rig
}

// with is the bundle with some lines in place of the ref.
func (s sent) with(lines ...string) []byte { return forged(s.tip, strings.Join(lines, "\n"), s.pack) }

func (s sent) own() string { return s.tip + " refs/heads/" + branch }

// at is a bundle whose tip is another object, with the objects of the tree.
func (s sent) at(script string) []byte {
	tip := s.rig.sh(s.tree, script)
	return forged(tip, tip+" refs/heads/"+branch, s.rig.packOf(s.tree))
}

// evilBundles are refused, each for another reason.
var evilBundles = []struct {
	name string
	make func(s sent) []byte
}{
	{"empty", func(sent) []byte { return nil }},
	{"zeros", func(sent) []byte { return make([]byte, 10<<20) }},
	{"lines", func(sent) []byte { return bytes.Repeat([]byte("\n"), 10<<20) }},
	{"no tip", func(s sent) []byte { return s.with(s.own())[len("tip \n")+len(s.tip):] }},
	{"a short tip", func(s sent) []byte { return forged(s.tip[:12], s.own(), s.pack) }},
	{"a tip that is an expression", func(sent) []byte { return []byte("tip HEAD~1\n") }},
	{"a tip that is an option", func(sent) []byte { return []byte("tip --output=x\n") }},
	{"two tips", func(s sent) []byte { return append([]byte("tip "+s.tip+"\n"), s.with(s.own())...) }},
	{"a tip that nobody has", func(sent) []byte { return []byte("tip " + strings.Repeat("12", 20) + "\n") }},
	{"a tip that the ref does not agree with", func(s sent) []byte { return forged(s.base, s.own(), s.pack) }},
	{"a tip that is not in the pack", func(s sent) []byte {
		other := strings.Repeat("12", 20)
		return forged(other, other+" refs/heads/"+branch, s.pack)
	}},
	{"a tip that is a tag", func(s sent) []byte { return s.at("git tag -a -m x v1 && git rev-parse v1") }},
	{"a tip that is a folder", func(s sent) []byte { return s.at("git rev-parse HEAD^{tree}") }},
	{"a tip that is a file", func(s sent) []byte { return s.at("git rev-parse HEAD:honest") }},
	{"a tip without the base", func(s sent) []byte { return s.at("git commit-tree -m alone HEAD^{tree}") }},
	{"no refs", func(s sent) []byte { return forged(s.tip, "", s.pack)[:len("tip \n# v2 git bundle\n\n")+len(s.tip)] }},
	{"no refs, and objects", func(s sent) []byte {
		return append([]byte("tip "+s.tip+"\n# v2 git bundle\n\n"), s.pack...)
	}},
	{"the same ref twice", func(s sent) []byte { return s.with(s.own(), s.own()) }},
	{"the same ref with two commits", func(s sent) []byte { return s.with(s.own(), s.base+" refs/heads/"+branch) }},
	{"another ref too", func(s sent) []byte { return s.with(s.own(), s.tip+" refs/heads/main") }},
	{"another ref first", func(s sent) []byte { return s.with(s.tip+" refs/tags/v1", s.own()) }},
	{"the user's branch", func(s sent) []byte { return s.with(s.tip + " refs/heads/main") }},
	{"HEAD", func(s sent) []byte { return s.with(s.tip + " HEAD") }},
	{"a branch below", func(s sent) []byte { return s.with(s.own() + "/x") }},
	{"a branch with a space", func(s sent) []byte { return s.with(s.own() + " ") }},
	{"a branch with a carriage return", func(s sent) []byte { return s.with(s.own() + "\r") }},
	{"a branch with a NUL", func(s sent) []byte { return s.with(s.own() + "\x00") }},
	{"a ref that is a way out", func(s sent) []byte { return s.with(s.tip + " refs/heads/../../hooks/x") }},
	{"a replacement", func(s sent) []byte { return s.with(s.own(), s.tip+" refs/replace/"+s.base) }},
	{"a ref of ours", func(s sent) []byte { return s.with(s.tip + " refs/ralph/home") }},
	{"what it builds on after the ref", func(s sent) []byte { return s.with(s.own(), "-"+s.base) }},
	{"a header that never ends", func(s sent) []byte { return s.with(strings.Repeat("-"+s.base+"\n", 1000) + s.own()) }},
	{"a line of 1 MB", func(s sent) []byte { return s.with(s.own() + strings.Repeat("x", 1<<20)) }},
	{"a line of 1 MB that is not looked at", func(s sent) []byte { return s.with("-"+s.base+strings.Repeat("x", 1<<20), s.own()) }},
	{"a header that breaks off", func(s sent) []byte { return s.with(s.own())[:80] }},
	{"another signature", func(s sent) []byte {
		return bytes.Replace(s.with(s.own()), []byte("# v2 git bundle"), []byte("# v9 git bundle"), 1)
	}},
	{"another object format", func(s sent) []byte {
		return bytes.Replace(s.with("@object-format=sha256", s.own()), []byte("# v2"), []byte("# v3"), 1)
	}},
	{"a filter", func(s sent) []byte {
		return bytes.Replace(s.with("@filter=blob:none", s.own()), []byte("# v2"), []byte("# v3"), 1)
	}},
	{"no pack", func(s sent) []byte { return forged(s.tip, s.own(), nil) }},
	{"half a pack", func(s sent) []byte { return forged(s.tip, s.own(), s.pack[:len(s.pack)/2]) }},
	{"a pack without its sum", func(s sent) []byte { return forged(s.tip, s.own(), s.pack[:len(s.pack)-20]) }},
	{"a pack with a wrong bit", func(s sent) []byte {
		pack := bytes.Clone(s.pack)
		pack[len(pack)/2] ^= 1
		return forged(s.tip, s.own(), pack)
	}},
	{"a pack that says it has more", func(s sent) []byte {
		pack := bytes.Clone(s.pack)
		copy(pack[8:12], "\xff\xff\xff\xff")
		return forged(s.tip, s.own(), pack)
	}},
	{"a pack of zeros", func(s sent) []byte { return forged(s.tip, s.own(), make([]byte, 10<<20)) }},
	{"a pack that lacks a file", func(s sent) []byte {
		return s.at(`rm -f ".git/objects/$(git rev-parse HEAD:honest | sed 's|^..|&/|')"; git rev-parse HEAD`)
	}},
}

// TestEvilBundles: whatever a sandbox sends, the user's repository is as before, and
// the next honest bundle is taken.
func TestEvilBundles(t *testing.T) {
	r := newRig(t)
	s := sent{base: r.base, tree: r.hostileTree(), rig: r}
	r.sh(s.tree, "echo honest >honest && git add honest && git commit -qm Honest")
	s.tip, s.pack = r.sh(s.tree, "git rev-parse HEAD"), r.packOf(s.tree)
	honest := s.with("-"+s.base+" first", s.own())
	before := r.userState() + r.sh(r.user, "git for-each-ref")
	for _, evil := range evilBundles {
		t.Run(evil.name, func(t *testing.T) {
			_, err := r.importWithin(evil.make(s))
			var refused *git.BadImportError
			if !errors.As(err, &refused) {
				t.Fatalf("got %v, want a refusal", err)
			}
			t.Log(refused.Why)
			if refused.Why == "" || strings.ContainsAny(refused.Why, "\n\r\x1b\x00") || len(refused.Why) > 4096 {
				t.Errorf("the reason is %.200q", refused.Why)
			}
			if after := r.userState() + r.sh(r.user, "git for-each-ref"); after != before {
				t.Errorf("the user's repository was\n%s\nand is\n%s", before, after)
			}
		})
	}
	if left := r.sh(r.store.Dir, "ls -d incoming-* 2>/dev/null || :"); left != "" {
		t.Errorf("left in the store: %s", left)
	}
	if got, err := r.importWithin(honest); err != nil || len(got.Commits) != 1 {
		t.Errorf("the honest one: %+v, %v", got, err)
	}
}

// TestOddBundles: what is unusual and does no harm is taken.
func TestOddBundles(t *testing.T) {
	for name, change := range map[string]func(s sent) []byte{
		"a message that is one long line": func(s sent) []byte { return s.with("-"+s.base+" "+strings.Repeat("long ", 10_000), s.own()) },
		"it builds on what nobody has":    func(s sent) []byte { return s.with("-"+strings.Repeat("12", 20)+" x", s.own()) },
		"the third version of the format": func(s sent) []byte {
			return bytes.Replace(s.with("@object-format=sha1", s.own()), []byte("v2"), []byte("v3"), 1)
		},
		"something follows the objects": func(s sent) []byte { return append(s.with(s.own()), make([]byte, 1<<20)...) },
		"objects that nothing refers to": func(s sent) []byte {
			s.rig.sh(s.tree, "echo stray | git hash-object -w --stdin")
			return forged(s.tip, s.own(), s.rig.packOf(s.tree))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			s := sent{base: r.base, tree: r.hostileTree(), rig: r}
			r.sh(s.tree, "echo honest >honest && git add honest && git commit -qm Honest")
			s.tip, s.pack = r.sh(s.tree, "git rev-parse HEAD"), r.packOf(s.tree)
			if got, err := r.importWithin(change(s)); err != nil || len(got.Commits) != 1 {
				t.Fatalf("got %+v, %v", got, err)
			}
			if out := r.sh(r.user, "git fsck --strict; git cat-file blob "+branch+":honest"); out != "honest" {
				t.Errorf("the user's repository says %q", out)
			}
		})
	}
}

// TestLongMessagesOfTheBase: the first paragraph of a message, however long, is part
// of what an honest git sends.
func TestLongMessagesOfTheBase(t *testing.T) {
	r := newRig(t, `git commit -q --allow-empty -m "$(seq 3000)"`)
	r.agent("1", "echo one >one")
	if got := r.mustBring(1); len(got.Commits) != 1 {
		t.Errorf("got %+v", got)
	}
}

// TestWhatCannotBeAdded: a nested repository without a commit, which tools leave behind
// that make a new project, does not keep the rest of the work from coming home.
func TestWhatCannotBeAdded(t *testing.T) {
	r := newRig(t)
	r.agent("1", "unset GIT_DIR GIT_WORK_TREE; git init -q new; echo x >new/x; echo one >one")
	if got := r.mustBring(1); len(got.Commits) != 1 || got.Files != 1 {
		t.Errorf("got %+v", got)
	}
	if text := r.sh(r.user, "git cat-file blob "+branch+":one"); text != "one" {
		t.Errorf("it came as %q", text)
	}
}
