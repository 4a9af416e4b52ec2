//go:build linux

package cli_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/gittrap"
	"github.com/agent-loop/ralph/internal/rundir"
)

// trapBatches is how many runs the traps are dealt out to, one by one: those of a kind
// get in each other's way, and lie side by side in the list.
const trapBatches = 11

// trapper is the agent. Its first iteration does honest work, and plants every trap in
// a repository of its own within the tree. Its second one plants them in the tree and
// the git directory that it was given, as far as the traps before leave those usable.
// Its third one, after the run was taken back, ends the work.
const trapper = `export CANARY=%s
mkdir -p "$CANARY" 2>/dev/null # in the sandbox: what bites inside shall not get in the way of the others
plant() { # NAME FOLDER WHERE
	(cd "$2" && sh -c "$(cat "$script")") >/tmp/said 2>&1 && echo "planted $1 $3" || { echo "not planted $1 $3:"; tail -n 1 /tmp/said; }
}
nest() {
	place=nest/$1
	case $1 in *pipe*|*sparse*) place=quiet/$1 ;; esac # git inside waits for those, as it should
	mkdir -p "${place%%/*}" && cp -R /tmp/ground "$place"
	script=$top/traps/$1 plant "$1" "$place" nested
}
top=$PWD
case $RALPH_ITERATION in
1)
	git init -q /tmp/ground && cp README a.txt prd.json progress.txt /tmp/ground && git -C /tmp/ground add -A &&
		git -C /tmp/ground -c user.name=a -c user.email=a@example.com commit -q -m first
	for name in $(cat order); do nest "$name"; done
	git add -A; git commit -q -m 'Honest work, with traps'
	;;
2)
	exec 2>/dev/null
	branch=$(git symbolic-ref --short HEAD)
	mkdir -p quiet && mv nest quiet/nest # git add stops at some of them
	git update-index --assume-unchanged prd.json progress.txt
	for name in $(cat order); do
		case $name in git-config-pipe) continue ;; esac
		git checkout -q -f "$branch"; git branch -q -D topic
		sed "s|\([^A-Za-z0-9/_-]\)\.git/|\1$(git rev-parse --absolute-git-dir 2>/dev/null || echo .git)/|g" "traps/$name" >/tmp/script
		script=/tmp/script plant "$name" . given
	done
	rm -rf nest && mv quiet/nest nest
	;;
*)
	sed 's/"passes": false/"passes": true/' prd.json >next && cat next >prd.json && rm next
	echo done >>progress.txt
	;;
esac
echo '<promise>COMPLETE</promise>'
`

const trapTasks = `{"project": "p", "branchName": "b", "userStories": [{"id": "US-1", "title": "Do it", "acceptanceCriteria": ["done"], "priority": 1, "passes": false}]}
`

// named are those that must be among the traps whatever becomes of the list.
var named = []string{
	"hook-pre-commit", "hook-post-checkout", "hook-post-merge", "hook-pre-push", "hook-reference-transaction", "config-hooks-path",
	"config-fsmonitor", "filter-clean", "filter-smudge", "filter-process", "diff-external", "diff-textconv", "merge-driver",
	"config-credential-helper", "config-askpass", "config-ssh-command", "config-include", "config-include-if", "config-pager", "config-alias",
	"config-editor", "config-gpg-sign", "filter-clean-attributes-file", "submodule-update-command", "submodule-hook", "nested-git-file",
	"git-folder-is-file", "git-commondir", "git-worktree-entry", "objects-alternates", "bundle-moves-branches", "replace-ref", "grafts",
	"file-name-is-option", "task-file-link", "task-file-sparse", "progress-file-pipe", "remote-ext-url", "promisor-lazy-fetch", "link-reflog",
}

// TestTraps: the host runs, follows and believes nothing of what an agent planted.
func TestTraps(t *testing.T) {
	tally := &trapTally{planted: map[string]map[string]bool{}}
	labs := 0
	t.Run("runs", func(t *testing.T) {
		for _, work := range []string{"clone", "in-place", "worktree"} {
			for batch := range trapBatches {
				if work == "worktree" && batch%5 != 0 {
					continue // it differs from a clone by what the host writes
				}
				labs++
				t.Run(fmt.Sprintf("%s-%d", work, batch), func(t *testing.T) {
					t.Parallel()
					newTrapLab(t, work, batch).springs(tally)
				})
			}
		}
	})
	tally.judge(t, labs)
}

// trapLab is a project whose agent plants traps.
type trapLab struct {
	*lab
	work   string
	batch  int
	canary string
}

func newTrapLab(t *testing.T, work string, batch int) *trapLab {
	t.Helper()
	l := &trapLab{lab: newLab(t, "[agent]\nname = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\n[loop]\ntasks = \"prd.json\"\n[validation]\ncommand = \"sh check.sh\"\ntrusted = [\"check.sh\"]\n"), work: work, batch: batch}
	l.canary = filepath.Join(filepath.Dir(l.home), "canary")
	l.git("config", "user.name", "n")
	l.git("config", "user.email", "e@example.com")
	for name, text := range map[string]string{
		"agent.sh": fmt.Sprintf(trapper, l.canary), "check.sh": "test -e a.txt\n", ".gitignore": ".ralph/\nquiet/\n",
		"README": "one\n", "a.txt": "one\n", "prd.json": trapTasks, "progress.txt": "begun\n",
	} {
		l.write(name, text)
	}
	var early, late string
	for i, trap := range gittrap.Traps() {
		if i%trapBatches != batch {
			continue
		}
		l.write("traps/"+trap.Name, trap.Plant)
		if strings.Contains(trap.Plant, "git commit -q") { // while that is possible
			early += trap.Name + "\n"
		} else {
			late += trap.Name + "\n"
		}
	}
	l.write("order", early+late)
	l.commit()
	l.git("branch", "stable")
	must(t, os.MkdirAll(filepath.Join(l.canary, "notes"), 0o777))
	must(t, os.WriteFile(filepath.Join(l.canary, "private"), []byte(trapSecret), 0o644))
	l.git("init", "-q", filepath.Join(l.canary, "victim"))
	return l
}

const trapSecret = "a-secret-of-the-host\n"

// springs does all that ralph ever does with such a run.
func (l *trapLab) springs(tally *trapTally) {
	l.t.Helper()
	canary, before := fileTimes(l.t, l.canary), l.userState()
	said := l.ralph("run", "--id", "one", "--max-iterations", "2", "--work", l.work)
	all := []ended{said}
	for _, args := range [][]string{
		{"show", "one"}, {"logs", "one"}, {"diff", "one"}, {"diff", "one", "1"}, {"diff", "one", "2", "--stat"}, {"verify", "one"}, {"ls"},
		{"rewind", "one", "1"}, {"resume", "one", "--max-iterations", "3"}, {"show", "one", "--json"}, {"verify", "one"},
	} {
		all = append(all, l.ralph(args...))
	}
	tally.count(l.work, all[2].stdout+all[2].stderr+said.stdout)
	if after := l.userState(); after != before {
		l.t.Errorf("the user's repository was\n%s\nand is\n%s", before, after)
	}
	apply := []string{"apply", "one"}
	if l.batch%2 == 1 {
		apply = append(apply, "--squash")
	}
	all = append(all, l.ralph(apply...), l.ralph("ls", "--json"))
	l.judge(all, canary)
	if l.work == "in-place" {
		tally.addBites(l.trips())
	}
}

// trips does what a careless user does in what the agent left. The traps that do not
// bite now would prove nothing.
func (l *trapLab) trips() (bites, tried int) {
	l.t.Helper()
	for _, trap := range gittrap.Traps() {
		nest := filepath.Join(l.project, "nest", trap.Name)
		if _, err := os.Lstat(nest); err != nil || !trap.Direct() || trap.Kind != gittrap.Executes || len(trap.Needs) > 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(l.t.Context(), 20*time.Second)
		cmd := exec.CommandContext(ctx, "sh", "-c", trap.Trip)
		cmd.Dir, cmd.WaitDelay = nest, time.Second
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + l.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
			"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
			"GIT_CONFIG_KEY_1=user.name", "GIT_CONFIG_VALUE_1=n", "GIT_CONFIG_KEY_2=user.email", "GIT_CONFIG_VALUE_2=e@example.com",
		}
		_ = cmd.Run() // what it does is all that counts
		cancel()
		tried++
		if _, err := os.Lstat(trap.Canary(l.canary)); err == nil {
			bites++
		} else {
			l.t.Logf("%s does not bite a careless user", trap.Name)
		}
	}
	return bites, tried
}

// userState is all of the user's repository that a run must leave alone.
func (l *trapLab) userState() string {
	l.t.Helper()
	refs := regexp.MustCompile(`(?m)^.* refs/(heads/ralph/|ralph-runs/)one\n`).ReplaceAllString(l.git("for-each-ref", "--format=%(objectname) %(refname)"), "")
	text := refs + l.git("symbolic-ref", "HEAD") + l.git("ls-files", "--stage")
	for _, name := range []string{"config", "hooks", "info", "packed-refs", "modules"} {
		_ = filepath.WalkDir(filepath.Join(l.project, ".git", name), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				content, err := os.ReadFile(path)
				must(l.t, err)
				text += path + "\n" + string(content)
			}
			return nil
		})
	}
	return text
}

// judge looks for what the traps would have done.
func (l *trapLab) judge(all []ended, canary []string) {
	l.t.Helper()
	if after := fileTimes(l.t, l.canary); strings.Join(after, "\n") != strings.Join(canary, "\n") {
		l.t.Errorf("a trap bit:\n%s", strings.Join(after, "\n"))
	}
	for i, e := range all {
		shown := e.stderr
		if !strings.HasPrefix(e.stdout, "diff --git") { // a patch in a pipe is as it is
			shown += e.stdout
		}
		if strings.Contains(e.stdout+e.stderr, strings.TrimSpace(trapSecret)) || strings.ContainsAny(shown, "\x1b\x07") || strings.Contains(e.stderr, "goroutine ") || e.code < 0 {
			l.t.Errorf("command %d: exit %d\n%.2000q", i, e.code, e.stdout+e.stderr)
		}
	}
	if out := l.git("fsck", "--strict", "--no-dangling"); strings.Contains(out, "error") {
		l.t.Errorf("git fsck says\n%s", out)
	}
	a := l.read()
	first := of[rundir.Import](l.t, a, rundir.EventImport)
	if len(first) == 0 || first[0].Refused != "" || len(first[0].Commits) == 0 {
		l.t.Errorf("honest work did not come home: %+v", first)
	}
	if l.work != "in-place" {
		l.judgeEnd(all, a)
	}
	l.nothingSecret()
	l.t.Logf("%s, batch %d: exit codes %v; %s, %+v", l.work, l.batch, codes(all), a.state.Status, a.state.Verification)
}

// judgeEnd: a run that was taken back ends verified, and its work is merged.
func (l *trapLab) judgeEnd(all []ended, a told) {
	l.t.Helper()
	if a.state.Status != rundir.Done || a.state.Verification == nil || a.state.Verification.Outcome != rundir.Verified {
		l.t.Errorf("%s (%s), %+v", a.state.Status, a.state.StopReason, a.state.Verification)
	}
	for i, e := range all[1:] {
		if e.code != 0 {
			l.t.Errorf("command %d: exit %d\n%.2000s%.2000s", i+1, e.code, e.stdout, e.stderr)
		}
	}
	if out := l.git("status", "--porcelain", "--ignore-submodules=all"); strings.Contains(out, "UU ") {
		l.t.Errorf("the work tree has\n%s", out)
	}
}

// nothingSecret looks for the secret in all that the run left.
func (l *trapLab) nothingSecret() {
	l.t.Helper()
	must(l.t, filepath.WalkDir(filepath.Join(l.project, ".ralph"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "work" || d.Name() == "private") {
			return fs.SkipDir // the agent's own
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if text, _ := os.ReadFile(path); strings.Contains(string(text), strings.TrimSpace(trapSecret)) {
			l.t.Errorf("the secret is in %s", path)
		}
		return nil
	}))
}

func codes(all []ended) (list []int) {
	for _, e := range all {
		list = append(list, e.code)
	}
	return list
}
