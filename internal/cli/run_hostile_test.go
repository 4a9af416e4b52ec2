//go:build linux

package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/modeltest"
	"github.com/agent-loop/ralph/internal/money"
	"github.com/agent-loop/ralph/internal/rundir"
)

// newHostileLab is a project whose agent is a shell script.
func newHostileLab(t *testing.T, script string) *lab {
	t.Helper()
	l := newLab(t, "[agent]\nname = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\n[loop]\nempty_retries = 1\nmax_consecutive_errors = 2\n[validation]\ncommand = \"true\"\n")
	l.write("agent.sh", script)
	l.commit()
	l.env = append(l.env, "RALPH_GIT_WORKSPACE=in-place") // where it can do most harm
	return l
}

const sayComplete = "\necho '<promise>COMPLETE</promise>'\n"

// TestHostileOutput: whatever an agent prints, ralph stays small, the record stays
// bounded and whole, and no byte of it reaches the terminal as it is.
func TestHostileOutput(t *testing.T) {
	for _, test := range []struct {
		name, script string
		code         int
	}{
		{"much", `yes "$(printf %01000d 0)" | head -c 1000000000` + sayComplete, 0},
		{"a long line", `head -c 100000000 /dev/zero | tr '\0' x; echo` + sayComplete, 0},
		{"much on stderr", `yes "$(printf %01000d 0)" | head -c 100000000 >&2` + sayComplete, 0},
		{"no UTF-8", `printf '\377\376 \300\200 words\n'; printf '\377\n' >&2` + sayComplete, 0},
		{"escapes", `printf '\033]0;evil\007\033[31mred\033[2J\233\n'; printf '\033[31m\n' >&2; printf '<decide>\033[31mred?</decide>'`, 4},
		{"nothing", `exit 0`, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newHostileLab(t, test.script)
			s := l.start("run")
			peak := s.peak()
			got := s.wait()
			if got.code != test.code {
				t.Errorf("exit %d, want %d\n%.3000s%.3000s", got.code, test.code, got.stdout, got.stderr)
			}
			if kib := <-peak; kib == 0 || kib > 200<<10 {
				t.Errorf("ralph took %d KiB of memory", kib)
			}
			for _, args := range [][]string{{"show"}, {"logs"}, {"ls"}, {"verify"}} {
				shown := l.ralph(args...)
				got.stdout, got.stderr = got.stdout+shown.stdout, got.stderr+shown.stderr
				if shown.code != 0 {
					t.Errorf("%v: exit %d\n%.1000s", args, shown.code, shown.stderr)
				}
			}
			if all := got.stdout + got.stderr; strings.ContainsAny(all, "\x1b\x07\x00\u009b") || strings.Contains(all, "\xff") {
				t.Errorf("control characters are shown: %.2000q", all)
			}
			if size := treeSize(t, l.run().Path()); size > 100<<20 {
				t.Errorf("the record has %d MiB", size>>20)
			}
			l.nothingLeft()
		})
	}
}

func treeSize(t *testing.T, dir string) (size int64) {
	t.Helper()
	must(t, filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return err
	}))
	return size
}

// TestHostileHands: what an agent does to the files it can reach.
func TestHostileHands(t *testing.T) {
	t.Run("the record", func(t *testing.T) {
		t.Parallel()
		l := newHostileLab(t, `exec 2>&1
cat .ralph/runs/*/spec.json .ralph/runs/*/logs/events.jsonl && echo LEAK""ED
find .ralph -type f | grep -v .gitignore && echo LEAK""ED
echo evil >>.git/config; echo evil >.git/hooks/x # of its own
for f in PROMPT.md ralph.toml .ralph/x .ralph/runs/x; do echo evil >>$f && echo LEAK""ED $f; done
mv .ralph away && echo LEAK""ED
mv PROMPT.md away && echo LEAK""ED
rm -rf PROMPT.md ralph.toml`+sayComplete)
		got := l.ralph("run")
		if all := got.stdout + got.stderr; got.code != 0 || strings.Contains(all, "LEAKED") || !strings.Contains(all, "Read-only") {
			t.Errorf("exit %d\n%s", got.code, all)
		}
		l.check(1)
		if changed := l.changes(); len(changed) != 0 || l.has(".git/hooks/x") || strings.Contains(l.git("config", "--list"), "evil") {
			t.Errorf("changed: %q", changed)
		}
	})
	t.Run("all files", func(t *testing.T) {
		t.Parallel()
		l := newHostileLab(t, "rm -rf ./* ./.g* 2>/dev/null"+sayComplete)
		l.write("precious/file", "x")
		if got := l.ralph("run"); got.code != 0 {
			t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
		}
		if l.check(1); l.has("precious/file") || !l.has("PROMPT.md") || !l.has(".git/HEAD") {
			t.Error("the agent's own files are there, or those that are not its own are gone")
		}
	})
	t.Run("the task file", func(t *testing.T) {
		t.Parallel()
		l := newHostileLab(t, "ln -sf /etc/passwd prd.json; ls -l prd.json"+sayComplete)
		l.write("prd.json", `{"userStories": [{"id": "US-1", "title": "one", "passes": false}]}`)
		got := l.ralph("run", "--max-iterations", "2")
		if got.code != 3 {
			t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
		}
		tasks := of[rundir.Tasks](t, l.read(), rundir.EventTask)
		if len(tasks) != 2 || tasks[0].Problem == "" || tasks[0].Passing != 0 {
			t.Errorf("the record says %+v", tasks)
		}
		text, err := os.ReadFile(filepath.Join(l.project, "prd.json"))
		if err != nil || !strings.Contains(string(text), "US-1") || strings.Contains(string(text), "root:") {
			t.Errorf("the task file was not mended: %s, %v", text, err)
		}
		if strings.Contains(got.stdout+got.stderr, "root:x:") {
			t.Error("a file of the host is shown")
		}
	})
	t.Run("the disk", func(t *testing.T) {
		t.Parallel()
		l := newHostileLab(t, "head -c 200000000 /dev/zero >big; head -c 200000000 /dev/zero >/tmp/big; echo wrote"+sayComplete)
		l.env = append(l.env, "RALPH_SANDBOX_RESOURCES_DISK=20m")
		got := l.ralph("run")
		if size := treeSize(t, l.project); size > 100<<20 {
			t.Errorf("the project has %d MiB, exit %d\n%s%s", size>>20, got.code, got.stdout, got.stderr)
		}
		if v := l.ralph("verify"); v.code != 0 {
			t.Errorf("verify: %s", v.stderr)
		}
		l.nothingLeft()
	})
}

// stubborn ignores what it can, and has children.
const stubborn = `trap '' TERM INT HUP
for i in 1 2 3; do setsid sh -c "trap '' TERM INT HUP; while :; do sleep 1; done" & done
echo > up; while [ ! -e go ]; do sleep 0.1; done` + sayComplete

// TestEnds: every way to end a run from outside, with an agent that does not want
// to, and "ralph resume" afterwards.
func TestEnds(t *testing.T) {
	for _, test := range []struct {
		name   string
		do     func(*lab, *session)
		status rundir.Status
		lets   bool // the agent may finish its iteration
	}{
		{"Ctrl-C once", func(_ *lab, s *session) { s.signal(syscall.SIGINT) }, rundir.Paused, true},
		{"ralph pause", func(l *lab, _ *session) { l.start("pause") }, rundir.Paused, true},
		{"Ctrl-C twice", func(l *lab, s *session) {
			s.signal(syscall.SIGINT)
			l.until("the request is recorded", func() bool { return len(of[rundir.Asked](l.t, l.read(), rundir.EventRequest)) > 0 })
			s.signal(syscall.SIGINT)
		}, rundir.Stopped, false},
		{"SIGTERM", func(_ *lab, s *session) { s.signal(syscall.SIGTERM) }, rundir.Stopped, false},
		{"ralph stop", func(l *lab, _ *session) {
			if got := l.ralph("stop"); got.code != 0 {
				l.t.Errorf("stop: exit %d\n%s", got.code, got.stderr)
			}
		}, rundir.Stopped, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newHostileLab(t, stubborn)
			s := l.start("run", "--validate", "test -e enough")
			l.until("the agent is up", func() bool { return l.has("up") })
			test.do(l, s)
			want := 0
			if test.lets {
				l.until("the request is recorded", func() bool { return len(of[rundir.Asked](t, l.read(), rundir.EventRequest)) > 0 })
				l.write("go", "")
				want = 1
			}
			got := s.wait()
			a := l.read()
			if got.code != 130 || a.state.Status != test.status || len(a.iterations) != want {
				t.Errorf("exit %d, %s, %d iterations\n%s%s", got.code, a.state.Status, len(a.iterations), got.stdout, got.stderr)
			}
			l.nothingLeft()
			l.write("go", "")
			l.write("enough", "")
			if got := l.ralph("resume"); got.code != 0 {
				t.Errorf("resume: exit %d\n%s%s", got.code, got.stdout, got.stderr)
			}
			l.check(want + 1)
		})
	}
}

// TestTheProviderSaysNo: a limit is waited for and burns no iteration, a rejected
// credential needs a person, and a budget is never passed.
func TestTheProviderSaysNo(t *testing.T) {
	t.Run("rate limit", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, threeFilesToml)
		limit := modeltest.Refuse(429, modeltest.AnthropicError("rate_limit_error", "slow down"), "Retry-After", "1")
		server := modeltest.New(t, append([]modeltest.Turn{limit, limit, limit, limit}, threeFiles(1)...)...)
		if got := l.ralph("run", "--upstream", server.URL); got.code != 0 {
			t.Fatalf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
		}
		a := l.check(3)
		if waits := of[rundir.Wait](t, a, rundir.EventWait); len(waits) == 0 || a.charged != 6*callCost {
			t.Errorf("waits %+v, charged %v", waits, a.charged)
		}
	})
	t.Run("credential", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, threeFilesToml)
		server := modeltest.New(t, modeltest.Refuse(401, modeltest.AnthropicError("authentication_error", "invalid bearer token")).Forever())
		got := l.ralph("run", "--upstream", server.URL)
		if got.code != 4 || !strings.Contains(got.stderr, "ralph: hint: the provider refuses the credential: look at it with ralph check-token") || l.read().state.Status != rundir.NeedsAttention {
			t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
		}
		l.nothingLeft()
	})
	t.Run("budget", func(t *testing.T) {
		t.Parallel()
		l := newLab(t, threeFilesToml)
		work := modeltest.Shell("true").Uses(modeltest.Usage{Input: 1000, Output: 5000})
		server := modeltest.New(t, work.Forever())
		got := l.ralph("run", "--upstream", server.URL, "--max-cost-usd", "0.5")
		a := l.read()
		if got.code != 3 || a.state.Status != rundir.Limit || a.state.CostUSD == 0 {
			t.Fatalf("exit %d, %s, %v\n%s%s", got.code, a.state.Status, a.state.CostUSD, got.stdout, got.stderr)
		}
		if spent := money.USD(len(server.Calls())) * 52 * money.Dollar / 1000; spent > money.Dollar/2 || spent != a.state.CostUSD {
			t.Errorf("the server was paid %v, the record says %v", spent, a.state.CostUSD)
		}
		next := modeltest.New(t, threeFiles(len(a.iterations)+1)...)
		if got := l.ralph("resume", "--upstream", next.URL, "--max-cost-usd", "5"); got.code != 0 {
			t.Errorf("resume: exit %d\n%s%s", got.code, got.stdout, got.stderr)
		}
	})
}

// TestFullDisk: a run that cannot be recorded ends, says how to go on, and does so
// when there is room again.
func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small disk needs root")
	}
	l := newHostileLab(t, "")
	must(t, syscall.Mount("tmpfs", l.project, "tmpfs", 0, "size=8m,mode=755"))
	t.Cleanup(func() { _ = syscall.Unmount(l.project, syscall.MNT_DETACH) })
	l.write("PROMPT.md", "fill it\n")
	l.write("ralph.toml", "[agent]\nname = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\n[validation]\ncommand = \"true\"\n")
	l.write("agent.sh", "if [ ! -e enough ]; then head -c 20000000 /dev/zero >big; fi; echo words"+sayComplete)
	got := l.ralph("run")
	if got.code != 1 || !strings.Contains(got.stderr, "no space left") || !strings.Contains(got.stdout, "ralph resume") || strings.Contains(got.stderr, "signal") {
		t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	must(t, os.Remove(filepath.Join(l.project, "big")))
	l.write("enough", "")
	if got := l.ralph("resume"); got.code != 0 {
		t.Errorf("resume: exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	l.check(1)
}
