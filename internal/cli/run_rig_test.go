//go:build linux

package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/modeltest"
	"github.com/agent-loop/ralph/internal/money"
	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox/gvisor"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// lab is a project with a state folder of its own, where tests run the real
// ralph with real sandboxes.
type lab struct {
	t                    *testing.T
	binary               string
	home, project, state string
	env                  []string // beyond what every command gets
}

// ended is a command that has.
type ended struct {
	stdout, stderr string
	code           int
}

// newLab makes a git repository with a prompt and a ralph.toml.
func newLab(t *testing.T, toml string) *lab {
	t.Helper()
	if testing.Short() {
		t.Skip("sandboxes are not for -short")
	}
	if _, err := gvisor.New(t.TempDir(), ralphBinary).Probe(t.Context()); err != nil {
		sandboxtest.SkipEngine(t, err)
	}
	return newProject(t, toml)
}

// newProject is a lab for whatever engine.
func newProject(t *testing.T, toml string) *lab {
	t.Helper()
	base := t.TempDir()
	for dir := base; dir != os.TempDir(); dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o755)) // as root, the processes of a sandbox are nobody
	}
	l := &lab{t: t, binary: ralphBinary, home: filepath.Join(base, "home"), state: filepath.Join(base, "state")}
	l.project = filepath.Join(l.home, "project")
	must(t, os.MkdirAll(l.project, 0o755))
	l.env = []string{"USERS_TOKEN=" + realSetupToken}
	l.git("init", "-q")
	l.write("ralph.toml", toml)
	l.write("PROMPT.md", "Do what is to be done.\n")
	l.write(".gitignore", ".ralph/\n")
	return l
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (l *lab) git(args ...string) string {
	l.t.Helper()
	cmd := exec.CommandContext(l.t.Context(), "git", append([]string{"-c", "user.name=n", "-c", "user.email=e@example.com", "-C", l.project}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		l.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// write makes a file of the project.
func (l *lab) write(name, content string) {
	l.t.Helper()
	path := filepath.Join(l.project, name)
	must(l.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(l.t, os.WriteFile(path, []byte(content), 0o644))
}

func (l *lab) has(name string) bool {
	_, err := os.Lstat(filepath.Join(l.project, name))
	return err == nil
}

// worked tells whether an agent that works on a clone has made a file.
func (l *lab) worked(name string) bool {
	found, err := filepath.Glob(filepath.Join(l.project, ".ralph/runs/*/work", name))
	return err == nil && len(found) > 0
}

// brought is a file of the one branch that a run made.
func (l *lab) brought(name string) string {
	l.t.Helper()
	return l.git("show", l.read().state.Branch+":"+name)
}

// command prepares a ralph that does not outlive a test's patience, nor rests
// before it tries again.
func (l *lab) command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(l.t.Context(), 2*time.Minute)
	l.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, l.binary, args...)
	cmd.Dir = l.project
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + l.home, "RALPH_STATE_DIR=" + l.state, "TERM=dumb",
		"RALPH_AGENT_CREDENTIAL=env:USERS_TOKEN", "RALPH_LOOP_COOL_DOWN=0",
	}, l.env...)
	return cmd
}

// ralph runs a command to its end.
func (l *lab) ralph(args ...string) ended {
	l.t.Helper()
	return l.start(args...).wait()
}

// session is a ralph that runs.
type session struct {
	lab            *lab
	cmd            *exec.Cmd
	stdout, stderr *bytes.Buffer
}

func (l *lab) start(args ...string) *session {
	l.t.Helper()
	s := &session{lab: l, cmd: l.command(args...), stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
	s.cmd.Stdout, s.cmd.Stderr = s.stdout, s.stderr
	must(l.t, s.cmd.Start())
	return s
}

func (s *session) signal(signal syscall.Signal) {
	s.lab.t.Helper()
	must(s.lab.t, s.cmd.Process.Signal(signal))
}

func (s *session) wait() ended {
	s.lab.t.Helper()
	code := exitCode(s.lab.t, s.cmd.Wait())
	return ended{s.stdout.String(), s.stderr.String(), code}
}

// peak watches how much memory ralph takes, in KiB, until it ends. What the system
// counts for a process that was waited for is no use: it begins with the memory of
// the test that started it.
func (s *session) peak() <-chan int {
	file, most := fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid), make(chan int, 1)
	go func() {
		last := 0
		for ; ; time.Sleep(5 * time.Millisecond) {
			text, err := os.ReadFile(file)
			_, after, alive := strings.Cut(string(text), "VmHWM:")
			if err != nil || !alive {
				most <- last
				return
			}
			_, _ = fmt.Sscan(after, &last)
		}
	}()
	return most
}

// until waits for something that another process brings about.
func (l *lab) until(what string, is func() bool) {
	l.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !is() {
		if time.Now().After(deadline) {
			l.t.Fatalf("after a minute, not yet: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// run opens the one run of the project.
func (l *lab) run() *rundir.Reader {
	l.t.Helper()
	root := filepath.Join(l.project, ".ralph", "runs")
	list, err := rundir.List(root, rundir.Filter{})
	if err != nil || len(list) != 1 {
		l.t.Fatalf("%d runs, want one: %v", len(list), err)
	}
	reader, err := rundir.OpenReadOnly(root, list[0].ID)
	must(l.t, err)
	l.t.Cleanup(func() { reader.Close() })
	return reader
}

// told is what a run's record holds.
type told struct {
	state      rundir.State
	iterations []rundir.Iteration
	events     []rundir.Event
	charged    money.USD
	tokens     int64
	uncertain  bool
}

func (l *lab) read() told {
	l.t.Helper()
	reader, err := l.run(), error(nil)
	var all told
	all.state, err = reader.State()
	must(l.t, err)
	for it, err := range reader.Iterations() {
		must(l.t, err)
		all.iterations = append(all.iterations, it)
	}
	for e, err := range reader.Events(1) {
		must(l.t, err)
		all.events = append(all.events, e)
		if e.Type == rundir.EventCharge {
			all.charge(l.t, e)
		}
	}
	return all
}

func (a *told) charge(t *testing.T, e rundir.Event) {
	t.Helper()
	var c struct {
		CostUSD   money.USD     `json:"cost_usd"`
		Tokens    rundir.Tokens `json:"tokens"`
		Uncertain bool          `json:"uncertain"`
	}
	must(t, json.Unmarshal(e.Data, &c))
	a.charged, a.tokens, a.uncertain = a.charged.Add(c.CostUSD), a.tokens+c.Tokens.Total(), a.uncertain || c.Uncertain
}

// of returns the data of all events of a type.
func of[T any](t *testing.T, a told, kind string) (all []T) {
	t.Helper()
	for _, e := range a.events {
		if e.Type == kind {
			var data T
			must(t, json.Unmarshal(e.Data, &data))
			all = append(all, data)
		}
	}
	return all
}

// check holds a run that was made to end done against everything that must be
// true of it, and returns its record.
func (l *lab) check(iterations int) told {
	l.t.Helper()
	a := l.read()
	if a.state.Status != rundir.Done || len(a.iterations) != iterations || a.state.Iteration != iterations {
		l.t.Errorf("%s (%s) with %d iterations, want done with %d", a.state.Status, a.state.StopReason, len(a.iterations), iterations)
	}
	var cost money.USD
	for i, it := range a.iterations {
		if cost = cost.Add(it.CostUSD); it.N != i+1 {
			l.t.Errorf("iteration %d is recorded as %d", i+1, it.N)
		}
	}
	if a.state.CostUSD != a.charged || a.state.Tokens.Total() != a.tokens || cost != a.charged {
		l.t.Errorf("the state says %v and %d tokens, the iterations %v, the charges %v and %d", a.state.CostUSD, a.state.Tokens.Total(), cost, a.charged, a.tokens)
	}
	if v := l.ralph("verify"); v.code != 0 {
		l.t.Errorf("verify: exit %d\n%s%s", v.code, v.stdout, v.stderr)
	}
	l.nothingLeft()
	return a
}

// nothingLeft checks that no sandbox, claim, process or stand-in is left.
func (l *lab) nothingLeft() {
	l.t.Helper()
	if ls := l.ralph("sandbox", "ls"); ls.code != 0 || ls.stdout != "" {
		l.t.Errorf("sandboxes: exit %d\n%s%s", ls.code, ls.stdout, ls.stderr)
	}
	for _, pattern := range []string{"*/ralph-*", "*/.new-*", "workspaces/*"} {
		if left, _ := filepath.Glob(filepath.Join(l.state, pattern)); len(left) > 0 {
			l.t.Errorf("left in the state folder: %v", left)
		}
	}
	if left := l.processes(); len(left) > 0 {
		l.t.Errorf("left running: %q", left)
	}
	_ = filepath.WalkDir(l.project, func(path string, d fs.DirEntry, _ error) error {
		if strings.Contains(d.Name(), ".ralph-") || d.Name() == ".vscode" {
			l.t.Errorf("left in the workspace: %s", path)
		}
		return nil
	})
}

// processes are the command lines of those that know the lab's folders.
func (l *lab) processes() (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && bytes.Contains(line, []byte(filepath.Dir(l.home))) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// changes is what git says was changed by the run, in the project and on its branch.
func (l *lab) changes() []string {
	l.t.Helper()
	return strings.Fields(l.git("status", "--porcelain", "-uall") + l.git("diff", "--name-status", "HEAD", l.read().state.Commit))
}

func (l *lab) commit() {
	l.t.Helper()
	l.git("add", "-A")
	l.git("commit", "-q", "--allow-empty", "-m", "begin")
}

// lines reads a file of a test as lines.
func lines(t *testing.T, path string) (all []string) {
	t.Helper()
	file, err := os.Open(path)
	must(t, err)
	defer file.Close()
	for s := bufio.NewScanner(file); s.Scan(); {
		all = append(all, s.Text())
	}
	return all
}

// Every scripted call uses as much, and costs with claude-sonnet-5, at $2 and $10
// for a million tokens, exactly so much.
const callCost = 1000*2*money.Dollar/1_000_000 + 50*10*money.Dollar/1_000_000

func perCall() modeltest.Usage { return modeltest.Usage{Input: 1000, Output: 50} }

// threeFiles is a script for the iterations from first on, of three: each makes
// its file and says that all is done, which is true after the third.
func threeFiles(first int) (script []modeltest.Turn) {
	for n := first; n <= 3; n++ {
		script = append(script,
			modeltest.Shell(fmt.Sprintf("mkdir -p work && echo %d > work/%d", n, n)).Uses(perCall()),
			modeltest.Say("<promise>COMPLETE</promise>").Uses(perCall()))
	}
	return script
}

const threeFilesToml = `
[agent]
name = "mini"
[validation]
command = "test -e work/3"
`
