package git_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/git"
)

// threeTips lets the agent do three iterations, each with a file of its number.
func (r *rig) threeTips(flags string) (tips []string) {
	r.t.Helper()
	for _, n := range []string{"1", "2", "3"} {
		r.agent(n, `echo `+n+` >`+n+`; git add `+n+`; git commit -qm 'Work `+n+`' `+flags)
		tips = append(tips, r.mustBring(len(tips)+1).To)
	}
	return tips
}

// again gives the run a new clone where it now is.
func (r *rig) again() {
	r.t.Helper()
	tip, err := r.store.Tip(r.ctx())
	must(r.t, err)
	dir := r.t.TempDir()
	r.clone = git.Clone{GitDir: filepath.Join(dir, "private"), Tree: filepath.Join(dir, "work")}
	must(r.t, r.store.Clone(r.ctx(), r.clone, tip, ""))
}

func (r *rig) checkBranch(want string) {
	r.t.Helper()
	if is := r.sh(r.user, "git rev-parse "+branch); is != want {
		r.t.Errorf("the branch is at %s, want %s", is, want)
	}
	if said := r.sh(r.user, "git status --porcelain; git fsck --strict 2>&1 | grep -v '^dangling' || true"); said != "" {
		r.t.Errorf("the user's repository says %q", said)
	}
}

// A run goes on from where it is taken back to, be the commits as the agent made them
// or written anew.
func TestRewind(t *testing.T) {
	for name, flags := range map[string]string{"as they came": "", "written anew": "--author 'Linus <l@example.com>'"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			tips := r.threeTips(flags)
			held, err := r.store.Rewind(r.ctx(), tips[0])
			if err != nil || held != "" {
				t.Fatalf("held %q, error %v", held, err)
			}
			r.checkBranch(tips[0])
			r.again()
			if files := r.agent("4", `ls`); files != "1\nREADME\nsrc" {
				t.Errorf("the new clone has %q", files)
			}
			r.agent("4", `echo 4 >4; git add 4; git commit -qm 'Work 4'`)
			got := r.mustBring(4)
			if len(got.Commits) != 1 || got.From != tips[0] || got.Files != 1 || got.Rewritten != 0 || got.Held != "" {
				t.Errorf("got %+v", got)
			}
			r.checkBranch(got.To)
			if log := r.sh(r.user, "git log --format=%s main.."+branch); log != "Work 4\nWork 1" {
				t.Errorf("the log is %q", log)
			}
		})
	}
}

// What was left behind can be come back to, and so can the beginning.
func TestRewindBackAndForth(t *testing.T) {
	r := newRig(t)
	tips := r.threeTips("")
	for _, to := range []string{tips[1], r.base, tips[2], tips[2], tips[0], r.base, tips[1]} {
		held, err := r.store.Rewind(r.ctx(), to)
		if err != nil || held != "" {
			t.Fatalf("%s: held %q, error %v", to, held, err)
		}
		r.checkBranch(to)
		home, err1 := r.store.Tip(r.ctx())
		inside, err2 := r.store.SandboxTip(r.ctx())
		if home != to || inside != to || err1 != nil || err2 != nil {
			t.Errorf("the store is at %s and %s, want %s", home, inside, to)
		}
	}
}

// An agent that took commits back itself does not keep the user from having them.
func TestRewindToWhatTheAgentDropped(t *testing.T) {
	r := newRig(t)
	tips := r.threeTips("")
	r.agent("4", `git reset -q --hard HEAD~2`)
	r.checkImported(4, tips[0])
	if _, err := r.store.Rewind(r.ctx(), tips[2]); err != nil {
		t.Fatal(err)
	}
	r.checkBranch(tips[2])
}

func (r *rig) checkImported(n int, want string) {
	r.t.Helper()
	if got := r.mustBring(n); got.To != want {
		r.t.Errorf("the import ends at %s, want %s", got.To, want)
	}
}

// A branch that the user has checked out, or moved, stays where it is.
func TestRewindIsHeld(t *testing.T) {
	for name, test := range map[string]struct{ user, why string }{
		"checked out": {`git checkout -q ` + branch, "is checked out in"},
		"moved":       {`git branch -f ` + branch + ` main`, "was moved by somebody else"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			tips := r.threeTips("")
			r.sh(r.user, test.user)
			is := r.sh(r.user, "git rev-parse "+branch)
			held, err := r.store.Rewind(r.ctx(), tips[0])
			if err != nil || !strings.Contains(held, test.why) {
				t.Errorf("held %q, error %v", held, err)
			}
			r.checkBranch(is)
			r.again()
			r.agent("4", `echo 4 >4`)
			if got := r.mustBring(4); got.From != tips[0] || got.Held == "" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestRewindRefuses(t *testing.T) {
	r := newRig(t,
		`git checkout -q -b other; echo >other; git add -A; git commit -qm other; git repack -qad; git checkout -q main`,
		`git checkout -q -b before HEAD; git checkout -q main; echo 2 >README; git commit -qam second; git checkout -q -b ahead; echo >ahead; git add -A; git commit -qm ahead; git repack -qad; git checkout -q main`)
	r.agent("1", `echo 1 >1; git add 1; git commit -qm 'Work' --author 'Linus <l@example.com>'`)
	inside := r.agent("1", `git rev-parse HEAD`)
	tip := r.mustBring(1).To
	for name, commit := range map[string]string{
		"written anew since":          inside,
		"before the base":             r.sh(r.user, "git rev-parse before"),
		"another branch":              r.sh(r.user, "git rev-parse other"),
		"another branch, on the base": r.sh(r.user, "git rev-parse ahead"),
		"unknown":                     strings.Repeat("1", 40),
		"a tree":                      r.sh(r.user, "git rev-parse HEAD^{tree}"),
		"a flag":                      "--all",
	} {
		if held, err := r.store.Rewind(r.ctx(), commit); err == nil {
			t.Errorf("%s: taken, held %q", name, held)
		}
		r.checkBranch(tip)
	}
}
