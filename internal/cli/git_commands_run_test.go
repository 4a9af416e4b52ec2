//go:build linux

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/modeltest"
	"github.com/agent-loop/ralph/internal/rundir"
)

// TestARunIsLookedAtTakenBackResumedAndApplied goes all the way with real sandboxes.
func TestARunIsLookedAtTakenBackResumedAndApplied(t *testing.T) {
	l := newLab(t, threeFilesToml)
	must(t, os.WriteFile(filepath.Join(l.home, ".gitconfig"), []byte("[user]\n\tname = n\n\temail = e@example.com\n"), 0o600))
	l.commit()
	ran := l.ralph("run", "--id", "one", "--upstream", modeltest.New(t, threeFiles(1)...).URL)
	if ran.code != 0 || !strings.Contains(ran.stdout, "ralph diff one") || !strings.Contains(ran.stdout, "ralph apply one") {
		t.Fatalf("exit %d\n%s%s", ran.code, ran.stdout, ran.stderr)
	}
	l.check(3)
	l.names("work/1\nwork/2\nwork/3\n")
	l.names("work/2\n", "2")

	if got := l.ralph("rewind", "one", "1"); got.code != 0 {
		t.Fatalf("rewind: exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	l.names("work/1\n")
	if a := l.read(); a.state.Status != rundir.Stopped || len(of[rundir.Rewind](t, a, rundir.EventRewind)) != 1 {
		t.Errorf("after the rewind: %+v", a.state)
	}
	resumed := l.ralph("resume", "one", "--upstream", modeltest.New(t, threeFiles(3)...).URL)
	if resumed.code != 0 {
		t.Fatalf("resume: exit %d\n%s%s", resumed.code, resumed.stdout, resumed.stderr)
	}
	l.check(4)
	l.names("work/1\nwork/3\n")
	l.names("work/3\n", "4")

	applied := l.ralph("apply", "one")
	if applied.code != 0 || !strings.HasPrefix(applied.stdout, "merged 2 commits of run one into ") || strings.Contains(applied.stderr, "not verified") {
		t.Errorf("apply: exit %d\n%s%s", applied.code, applied.stdout, applied.stderr)
	}
	if l.has("work/2") || !l.has("work/1") || !l.has("work/3") || strings.TrimSpace(l.git("status", "--porcelain")) != "" {
		t.Errorf("the project has\n%s", l.git("ls-files"))
	}
}

// names checks which files a run, or an iteration of it, changed.
func (l *lab) names(want string, iteration ...string) {
	l.t.Helper()
	got := l.ralph(append(append([]string{"diff", "one"}, iteration...), "--name-only")...)
	if got.code != 0 || got.stdout != want {
		l.t.Errorf("diff %v: exit %d\n%s%s\nwant\n%s", iteration, got.code, got.stdout, got.stderr, want)
	}
}
