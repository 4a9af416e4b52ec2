//go:build linux

package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/rundir"
)

// newInsideLab is a project whose agent, a script, has its files in the sandbox's own
// file system. It ignores what is in cache.
func newInsideLab(t *testing.T, script, toml string) *lab {
	t.Helper()
	l := newCloneLab(t, script, "[git]\ncheckout = \"inside\"\n"+toml)
	l.write(".gitignore", ".ralph/\ncache/\n")
	l.commit()
	return l
}

// kept is a file of the run; empty: there is none.
func (l *lab) kept(name string) string {
	found, _ := filepath.Glob(filepath.Join(l.project, ".ralph/runs/*", name))
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

// notes are those of the run, as one text.
func (l *lab) notes() string {
	var all []string
	for _, n := range of[rundir.Note](l.t, l.read(), rundir.EventNote) {
		all = append(all, n.Text)
	}
	return strings.Join(all, "\n")
}

// TestFilesInside: two iterations and a task file in git. Nothing of the agent's files
// is ever on the host, and what it does comes home all the same.
func TestFilesInside(t *testing.T) {
	for name, toml := range map[string]string{"one sandbox": "", "a sandbox for each": "[sandbox]\nreuse_container = false\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newCloneLab(t, `test "$(cat .git)" = "gitdir: /opt/ralph-git" && test -z "$(git status --porcelain)" || exit 1
mkdir -p cache && echo x >>cache/built && wc -l <cache/built >>count && echo "learned $(wc -l <count)" >>progress.txt
sed -i '0,/false/s/false/true/; s/"one"/"another"/' prd.json; echo done`, toml)
			l.write(".gitignore", ".ralph/\ncache/\n")
			l.write("PROMPT.md", "Do it.\n{{progress}}\n")
			l.write("prd.json", `{"userStories": [{"id": "US-1", "title": "one", "passes": false}, {"id": "US-2", "title": "two", "passes": false}]}`)
			l.commit()
			got := l.wants(0, "run", "--checkout", "inside")
			if !strings.Contains(got.stdout, "all 2 stories pass") {
				t.Errorf("it ends with\n%s", got.stdout)
			}
			a := l.check(2)
			if l.brought("count") != "1\n2\n" || !strings.Contains(l.brought("prd.json"), `"one"`) {
				t.Errorf("count is %q, the task file %s", l.brought("count"), l.brought("prd.json"))
			}
			if a.iterations[0].ChangedFiles != 3 || a.iterations[1].ChangedFiles != 3 {
				t.Errorf("files changed: %d, %d", a.iterations[0].ChangedFiles, a.iterations[1].ChangedFiles)
			}
			if l.kept("work") != "" || l.kept("kept.tar*") != "" || l.kept("files") != "" || l.kept("private") != "" {
				t.Error("something is left of the clone")
			}
			if first := of[rundir.Launch](t, a, rundir.EventLaunch)[0]; !strings.Contains(mountsOf(first), "(the sandbox's own) "+l.project) {
				t.Errorf("the record has the mounts\n%s", mountsOf(first))
			}
		})
	}
}

func mountsOf(launch rundir.Launch) string {
	text := ""
	for _, m := range launch.Mounts {
		text += m.Source + " " + m.Target + "\n"
	}
	return text
}

// TestInsideOverStopAndResume: what is not committed is there again: new files, changed
// ones, ignored ones; and those that were deleted are not.
func TestInsideOverStopAndResume(t *testing.T) {
	l := newInsideLab(t, `if [ -e cache/built ]; then
	cat cache/built half "dir/a b" && test "$(cat tracked)" = changed && test ! -e doomed && test -x tool && test "$(readlink link)" = half &&
	git diff --cached --name-only | grep -q staged && echo '<promise>COMPLETE</promise>'
	exit
fi
mkdir -p cache dir && echo x >cache/built && echo half >half && echo a >"dir/a b" && echo changed >tracked && rm doomed
echo >tool && chmod +x tool && ln -s half link && echo >staged && git add staged && echo ready >progress.txt
echo ready; sleep 1000`, "[loop]\nmax_consecutive_errors = 1\n")
	l.write("tracked", "as it was\n")
	l.write("doomed", "not for long\n")
	l.commit()
	s := l.start("run")
	l.until("the agent is at work", func() bool { return strings.Contains(l.ralph("logs").stdout, "ready") })
	l.wants(0, "stop")
	if got := s.wait(); got.code != 130 {
		t.Fatalf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if text, err := os.ReadFile(l.kept("files/progress.txt")); err != nil || string(text) != "ready\n" {
		t.Errorf("the loop knows the progress %q, %v", text, err)
	}
	l.nothingLeft()
	l.wants(0, "resume")
	l.check(1)
	if changed := strings.Join(strings.Fields(l.git("diff", "--name-status", "HEAD", l.read().state.Commit)), " "); changed != "A dir/a b D doomed A half A link A progress.txt A staged A tool M tracked" {
		t.Errorf("the work is %s", changed)
	}
}

// TestInsideTimesOut: an iteration that is ended has done its work all the same.
func TestInsideTimesOut(t *testing.T) {
	l := newInsideLab(t, `[ -e made ] && echo '<promise>COMPLETE</promise>' && exit; echo it >made; echo made; sleep 1000`, "[loop]\nidle_timeout = \"2s\"\n")
	l.wants(0, "run")
	a := l.check(2)
	if a.iterations[0].ChangedFiles != 1 || len(a.iterations[0].Commits) != 1 || l.brought("made") != "it\n" {
		t.Errorf("the first iteration is %+v", a.iterations[0])
	}
}

// TestInsideKilled: commits are there after a kill, and what was kept before; of what
// was done since the loss is told to nobody, and nothing hangs.
func TestInsideKilled(t *testing.T) {
	l := newInsideLab(t, `n=$(cat count 2>/dev/null || echo 0); echo $((n+1)) >count; mkdir -p cache
case $n in
0) echo one >cache/built; echo old >tracked; echo one ;;
1) echo new >tracked; git add -A; git commit -qm work; echo >lost; echo at-second; sleep 1000 ;;
*) test "$(cat tracked)" = new && test -e cache/built && test ! -e lost && echo '<promise>COMPLETE</promise>' ;;
esac`, "[loop]\nmax_consecutive_errors = 1\n")
	l.wants(3, "run", "--max-iterations", "1")
	s := l.start("resume", "--max-iterations", "9")
	l.until("the agent is at work", func() bool { return strings.Contains(l.ralph("logs").stdout, "at-second") })
	s.signal(syscall.SIGKILL)
	s.wait()
	l.until("all processes of the run have ended", func() bool { return len(l.processes()) == 0 })
	l.wants(0, "resume")
	l.check(2)
	if l.brought("tracked") != "new\n" || l.brought("count") != "3\n" {
		t.Errorf("tracked is %q, count %q", l.brought("tracked"), l.brought("count"))
	}
}

// TestInsideBrokenGit: the files are committed by another git directory.
func TestInsideBrokenGit(t *testing.T) {
	for name, broken := range map[string]string{
		"no objects": `rm -rf /opt/ralph-git/objects /opt/ralph-git/refs`,
		"no index":   `echo garbage >/opt/ralph-git/index; rm -f .git; mkdir .git`,
		"another":    `rm .git; git init -q .; git add -A; git commit -qm mine`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newInsideLab(t, `echo new >new; echo changed >tracked; rm doomed; mkdir -p cache; echo >cache/built; `+broken+sayComplete, "")
			l.write("tracked", "as it was\n")
			l.write("doomed", "not for long\n")
			l.commit()
			l.wants(0, "run")
			l.check(1)
			if changed := strings.Join(strings.Fields(l.git("diff", "--name-status", "HEAD", l.read().state.Commit)), " "); changed != "D doomed A new M tracked" {
				t.Errorf("the work is %s\n%s", changed, l.notes())
			}
		})
	}
}

// TestHostileFilesInside: whatever an agent puts in the place of the task file, ralph
// goes on and puts it back.
func TestHostileFilesInside(t *testing.T) {
	for name, trick := range map[string]string{
		"a link":       `ln -sf /etc/passwd prd.json`,
		"a pipe":       `rm prd.json; mkfifo prd.json progress.txt`,
		"a folder":     `rm prd.json; mkdir -p prd.json/deep progress.txt; chmod 0 prd.json`,
		"a large file": `echo progress.txt >>/opt/ralph-git/info/exclude; truncate -s 1G prd.json progress.txt`,
		"a locked one": `chmod 0 prd.json`,
		"no folder":    `chmod 0 .`,
		"no utf-8":     `printf '\377' >prd.json; printf '\033[31m\377' >progress.txt`,
		"a process":    `(while :; do ln -sf /dev/zero prd.json; rm -f prd.json; mkfifo prd.json; rm -f prd.json; done) >/dev/null 2>&1 & sleep 0.2`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newInsideLab(t, `mkdir -p cache; if [ -e cache/again ]; then sed -i s/false/true/ prd.json`+sayComplete+`exit; fi
echo >cache/again; `+trick+`; echo tricked`, "[sandbox.resources]\nmemory = \"512m\"\n")
			l.write("prd.json", oneStory)
			l.commit()
			s := l.start("run", "--max-iterations", "4")
			peak := s.peak()
			got := s.wait()
			if got.code != 0 {
				t.Fatalf("exit %d\n%s%s\n%s", got.code, got.stdout, got.stderr, l.notes())
			}
			if kib := <-peak; kib == 0 || kib > 200<<10 {
				t.Errorf("ralph took %d KiB of memory", kib)
			}
			if text := strings.ReplaceAll(l.brought("prd.json"), " ", ""); !strings.Contains(text, `"id":"US-1"`) || !strings.Contains(text, `"passes":true`) {
				t.Errorf("the task file on the branch is %s", text)
			}
			l.check(l.read().state.Iteration)
		})
	}
}

// TestWhatCannotBeKeptIsTold, and the run goes on with what is in git.
func TestWhatCannotBeKeptIsTold(t *testing.T) {
	l := newInsideLab(t, `n=$(cat count 2>/dev/null || echo 0); echo $((n+1)) >count; mkdir -p cache; head -c 30000000 /dev/zero >cache/big; echo made; [ $n = 0 ] ||`+sayComplete,
		"[sandbox]\nreuse_container = false\n[sandbox.resources]\ndisk = \"20m\"\n")
	l.wants(0, "run")
	l.check(2)
	if !strings.Contains(l.notes(), "not all is kept that the agent had not committed: it has more than 20m") {
		t.Errorf("the notes are\n%s", l.notes())
	}
}

// TestRewindInside forgets what was kept.
func TestRewindInside(t *testing.T) {
	l := newInsideLab(t, `sed -i '0,/false/s/false/true/' prd.json; mkdir -p cache; ls cache >seen; date +%N >>work; echo >cache/built; echo done`, "")
	l.write("prd.json", `{"userStories": [{"id": "US-1", "title": "one", "passes": false},
{"id": "US-2", "title": "two", "passes": false}, {"id": "US-3", "title": "three", "passes": false}]}`)
	l.commit()
	l.wants(3, "run", "--max-iterations", "2")
	if l.kept("kept.tar") == "" || l.brought("seen") != "built\n" {
		t.Fatal("nothing is kept")
	}
	l.wants(0, "rewind", "latest", "1")
	if l.kept("kept.tar") != "" || l.kept("files") != "" {
		t.Error("what was kept is still there")
	}
	l.wants(3, "resume", "--max-iterations", "3")
	if l.brought("seen") != "" || strings.Count(l.brought("prd.json"), "true") != 2 {
		t.Errorf("after the rewind the agent sees %q, the task file is %s", l.brought("seen"), l.brought("prd.json"))
	}
}

// TestInsideIsForClones.
func TestInsideIsForClones(t *testing.T) {
	l := newCloneLab(t, "echo", "")
	data := t.TempDir()
	for _, args := range [][]string{{"--work", "in-place"}, {"--data", data}} {
		got := l.wants(2, append([]string{"run", "--checkout", "inside"}, args...)...)
		if !strings.Contains(got.stderr, "only a clone can have its files inside") {
			t.Errorf("%q: %s", args, got.stderr)
		}
	}
	if l.has(".ralph") {
		t.Error("a run that never began left something")
	}
	l.wants(2, "run", "--checkout", "outside")
}

// TestKeptBytesAreOnlyBytes: the host writes what a sandbox gives it and nothing else.
func TestKeptBytesAreOnlyBytes(t *testing.T) {
	l := newInsideLab(t, `mkdir -p cache; echo content >cache/file; ln -s /etc/passwd cache/link; echo done`, "")
	l.wants(3, "run", "--max-iterations", "1")
	text, err := os.ReadFile(l.kept("kept.tar"))
	if err != nil || !bytes.Contains(text, []byte("cache/file")) {
		t.Errorf("%d bytes are kept, %v", len(text), err)
	}
	if found, _ := filepath.Glob(filepath.Join(l.project, ".ralph/runs/*/*/cache")); len(found) > 0 {
		t.Errorf("on the host: %v", found)
	}
}
