package git_test

import (
	"strings"
	"testing"
)

// What an agent commits, and what it leaves uncommitted, comes to the run's branch
// of the user's repository; nothing else there changes.
func TestWorkComesHome(t *testing.T) {
	r := newRig(t)
	r.agent("1", `echo one >one && git add one && git commit -qm 'Add one' && echo two >two`)
	got := r.mustBring(1)
	if len(got.Commits) != 2 || got.Files != 2 || got.Rewritten != 0 || got.Held != "" {
		t.Fatalf("got %+v", got)
	}
	log := r.sh(r.user, `git log --format='%an <%ae> %s|%(trailers:key=Ralph-Run,valueonly,separator=%x2C)|%(trailers:key=Ralph-Iteration,valueonly,separator=%x2C)' main..`+branch)
	want := "Ralph Loop <ralph@localhost> What the agent left|r1|1\nRalph Loop <ralph@localhost> Add one|r1|1"
	if log != want {
		t.Errorf("the log is\n%s\nwant\n%s", log, want)
	}
	if status := r.sh(r.user, `git status --porcelain; git rev-parse --abbrev-ref HEAD; git fsck --strict`); status != "main" {
		t.Errorf("the user's repository says %q", status)
	}
	again := r.mustBring(2)
	if len(again.Commits) != 0 || again.To != got.To {
		t.Errorf("again: %+v", again)
	}
}

func TestForeignIdentityIsMended(t *testing.T) {
	r := newRig(t)
	r.agent("1", `echo one >one && git add one && git -c core.hooksPath=/dev/null commit -qm 'Look, it is
Ralph-Run: other' --author 'Linus <l@example.com>'`)
	got := r.mustBring(1)
	if got.Rewritten != 1 {
		t.Fatalf("got %+v", got)
	}
	r.agent("2", `echo 2 >>one && git commit -qam 'Two'`)
	next := r.mustBring(2)
	if len(next.Commits) != 1 || next.Rewritten != 1 {
		t.Fatalf("got %+v", next)
	}
	log := r.sh(r.user, `git log --format='%an|%cn|%s|%(trailers:separator=%x2C)' main..`+branch)
	want := "Ralph Loop|Ralph Loop|Two|Ralph-Run: r1,Ralph-Iteration: 2\nRalph Loop|Ralph Loop|Look, it is|Ralph-Run: r1,Ralph-Iteration: 1"
	if log != want {
		t.Errorf("the log is\n%s\nwant\n%s", log, want)
	}
	if parent := r.sh(r.user, "git rev-parse "+branch+"^"); parent != got.To || strings.Contains(log, "other") {
		t.Errorf("parent %s, want %s", parent, got.To)
	}
}

// Names that are refused are refused in every commit, since a person may go back to any.
func TestNamesOfThePast(t *testing.T) {
	for _, test := range []struct{ name, script, why string }{
		{"a backslash", `echo x >'a\b' && git add -A && git commit -qm bad && git rm -q 'a\b' && git commit -qm better`, "backslash"},
		{"case", `mkdir AA aa && echo 1 >AA/f && echo 2 >aa/f && git add -A && git commit -qm bad && git rm -rq AA && git commit -qm better`, "one where case does not count"},
		{"case, with a file of the base", `echo x >readme && git add -A && git commit -qm bad && git rm -q readme && git commit -qm better`, "one where case does not count"},
		{"another case after another", `echo x >one && git add -A && git commit -qm one && git mv one ONE && git commit -qm two`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.agent("1", test.script)
			_, err := r.bring(1)
			if test.why == "" && err != nil || test.why != "" && (err == nil || !strings.Contains(err.Error(), test.why)) {
				t.Errorf("got %v, want %q", err, test.why)
			}
		})
	}
}
