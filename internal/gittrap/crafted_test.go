//go:build unix

package gittrap_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/gittrap"
)

// bombBytes keeps the test of the bomb short.
const bombBytes = "BOMB_BYTES=16777216"

// Each crafted commit can be made with what an agent has, can be sent as a bundle,
// and is what it is said to be.
func TestCraftedCommits(t *testing.T) {
	ground := newGround(t)
	for _, crafted := range gittrap.CraftedCommits() {
		t.Run(crafted.Name, func(t *testing.T) {
			t.Parallel()
			p := ground.place(t)
			first := strings.TrimSpace(p.must(t, p.host(), "git rev-parse HEAD"))
			bundle := filepath.Join(p.home, "work.bundle")
			p.must(t, append(p.agent(), bombBytes), crafted.Make)
			p.must(t, append(p.agent(), "BUNDLE="+bundle), gittrap.BundleScript)
			if head := strings.TrimSpace(p.must(t, p.host(), "git rev-parse HEAD")); head == first {
				t.Error("HEAD is still the first commit")
			}
			if crafted.Shows != "" {
				p.must(t, p.host("BUNDLE="+bundle, "FIRST="+first), crafted.Shows)
				if out, err := p.run(t, p.host("BUNDLE=/dev/null", "FIRST="+first), "git update-ref HEAD $FIRST &&\n"+crafted.Shows); err == nil {
					t.Errorf("an honest commit shows the same\n%s", out)
				}
			}
			p.judge(t, crafted, bundle)
		})
	}
}

// judge has git's own strict checks look at the objects. They complain of just those
// that are said to be malformed.
func (p place) judge(t *testing.T, crafted gittrap.Crafted, bundle string) {
	t.Helper()
	said, err := p.run(t, p.host(), "git fsck --strict")
	if (err != nil) != (crafted.Fsck != "") || !strings.Contains(said, crafted.Fsck) {
		t.Errorf("git fsck (%v) should say %q, but says\n%s", err, crafted.Fsck, said)
	}
	data, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	_, pack, _ := bytes.Cut(data, []byte("\n\n"))
	write(t, filepath.Join(p.home, "pack"), string(pack))
	said, err = p.run(t, p.host(), `git init -q --bare "$HOME/clean" && git -C "$HOME/clean" index-pack --strict --stdin <"$HOME/pack"`)
	if (err != nil) != (crafted.Fsck != "") {
		t.Errorf("git index-pack --strict (%v) says\n%s", err, said)
	}
}

func TestCraftedCommitsAreDescribed(t *testing.T) {
	names, refused := map[string]bool{}, 0
	kebab := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for _, c := range gittrap.CraftedCommits() {
		if !kebab.MatchString(c.Name) || names[c.Name] {
			t.Errorf("%q is not a name, or not the only one", c.Name)
		}
		names[c.Name] = true
		if c.Refuse {
			refused++
		}
		if c.About == "" || strings.Contains(c.About, "\n") {
			t.Errorf("%s: about must be one line", c.Name)
		}
		if (c.Fsck == "") == (c.Shows == "") {
			t.Errorf("%s: either git complains of it, or a script shows what it is", c.Name)
		}
		if c.Fsck != "" && !c.Refuse {
			t.Errorf("%s: what is malformed must be refused", c.Name)
		}
	}
	t.Logf("%d crafted commits, %d to refuse", len(names), refused)
	if len(names) < 15 {
		t.Errorf("only %d crafted commits", len(names))
	}
}
