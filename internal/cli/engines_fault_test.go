//go:build linux

package cli_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/rundir"
)

// faultScript is an agent that is at its work until something happens, and done
// when it is called again.
const faultScript = `n=$(cat count 2>/dev/null || echo 0); echo $((n+1)) >count
if [ $n = 0 ]; then echo >began; sleep 1000; fi` + sayComplete

const faultToml = "[agent]\nname = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\n[validation]\ncommand = \"true\"\n"

// newFaultLab is a project whose agent waits for something to happen.
func newFaultLab(t *testing.T, engine string) *engineLab {
	t.Helper()
	l := newEngineLab(t, engine, faultToml)
	l.write("agent.sh", faultScript)
	l.commit()
	return l
}

// atWork starts a run and returns when its agent has begun.
func (l *engineLab) atWork() *session {
	l.t.Helper()
	s := l.start("run")
	l.until("the agent is at work", func() bool { return l.worked("began") })
	return s
}

// container is the one that there is.
func (l *engineLab) container() string {
	l.t.Helper()
	all := l.containers()
	if len(all) != 1 {
		l.t.Fatalf("%d containers, want one", len(all))
	}
	return all[0]
}

// kill ends a process whose command line begins with a program and knows the lab.
func (l *engineLab) kill(program string) {
	l.t.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, _ := os.ReadFile(file)
		if path, _, _ := strings.Cut(string(line), "\x00"); filepath.Base(path) == program && strings.Contains(string(line), filepath.Dir(l.home)) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			must(l.t, err)
			must(l.t, syscall.Kill(pid, syscall.SIGKILL))
			return
		}
	}
	l.t.Fatalf("no %s runs", program)
}

// TestEnginesLoseASandbox: a sandbox that somebody ends behind ralph's back costs one
// iteration, which says so, and the run goes on in another one.
func TestEnginesLoseASandbox(t *testing.T) {
	for _, test := range []struct {
		name, engine string
		fault        func(l *engineLab)
		reason       string
	}{
		{"removed", "docker", func(l *engineLab) { l.tell("rm", "--force", l.container()) }, "the container was ended from outside"},
		{"killed", "docker", func(l *engineLab) { l.tell("kill", l.container()) }, "the container was ended from outside"},
		{"paused and removed", "docker", func(l *engineLab) {
			id := l.container()
			l.tell("pause", id)
			l.tell("rm", "--force", id)
		}, "the container was ended from outside"},
		{"the client killed", "docker", func(l *engineLab) { l.kill("docker") }, "the command docker was killed"},
		{"removed", "podman", func(l *engineLab) { l.tell("rm", "--force", "--time", "0", l.container()) }, "the container was ended from outside"},
		{"killed", "bubblewrap", func(l *engineLab) { l.kill("bwrap") }, "bwrap was killed"},
	} {
		t.Run(test.engine+" "+test.name, func(t *testing.T) {
			l := newFaultLab(t, test.engine)
			s := l.atWork()
			test.fault(l)
			got := s.wait()
			if got.code != 0 || !strings.Contains(got.stderr, test.reason) {
				t.Fatalf("exit %d, want it to say %q\n%s%s", got.code, test.reason, got.stdout, got.stderr)
			}
			first := l.check(2).iterations[0]
			if first.Outcome != "failed" || !strings.Contains(first.Reason, test.reason) || first.ExitCode != -1 {
				t.Errorf("the iteration is recorded as %+v", first)
			}
		})
	}
}

// TestEnginesPaused: a container that does not answer can be stopped all the same,
// and one whose ralph was killed meanwhile is swept away by the next.
func TestEnginesPaused(t *testing.T) {
	for name, end := range map[string]func(l *engineLab, s *session){
		"stopped": func(l *engineLab, s *session) {
			l.wants(0, "stop")
			if got := s.wait(); got.code != 130 {
				l.t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
			}
			l.nothingLeft()
			l.gone()
		},
		"orphaned": func(l *engineLab, s *session) {
			s.signal(syscall.SIGKILL)
			s.wait()
			if l.container(); l.read().state.Status != rundir.Running {
				l.t.Error("the run did not just break off")
			}
			l.wants(0, "exec", "--", "true") // any start sweeps
			l.gone()
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newFaultLab(t, "docker")
			s := l.atWork()
			l.tell("pause", l.container())
			end(l, s)
			l.wants(0, "resume")
			l.check(1)
		})
	}
}

// TestEnginesTimeOut: an iteration that takes too long is ended with its sandbox.
func TestEnginesTimeOut(t *testing.T) {
	eachEngine(t, func(t *testing.T, engine string) {
		l := newEngineLab(t, engine, faultToml+"[sandbox.resources]\ntimeout_minutes = 0.03\n")
		l.write("agent.sh", strings.Replace(faultScript, "sleep 1000", "setsid sleep 1000 & setsid sleep 1001", 1))
		l.commit()
		got := l.wants(0, "run")
		a := l.check(2)
		first := a.iterations[0]
		if first.Outcome != "timed-out" || !strings.Contains(first.Reason, "longer than it may") || !strings.Contains(got.stderr, "timed-out: it took longer than it may") {
			t.Errorf("the iteration is recorded as %+v\n%s", first, got.stderr)
		}
		if n := len(launches(t, a)); n != 3 {
			t.Errorf("%d sandboxes: the one that was too slow was kept", n)
		}
	}, "bubblewrap", "docker")
}

// TestEnginesFullDisk: a run that cannot be recorded ends, says how to go on, and
// does so when there is room again.
func TestEnginesFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small disk needs root")
	}
	eachEngine(t, func(t *testing.T, engine string) {
		l := newEngineLab(t, engine, "")
		must(t, syscall.Mount("tmpfs", l.project, "tmpfs", 0, "size=8m,mode=755"))
		t.Cleanup(func() { _ = syscall.Unmount(l.project, syscall.MNT_DETACH) })
		l.write("PROMPT.md", "fill it\n")
		l.write("ralph.toml", faultToml)
		l.write("agent.sh", "if [ ! -e enough ]; then head -c 20000000 /dev/zero >big; fi; echo words"+sayComplete)
		got := l.ralph("run")
		if got.code != 1 || !strings.Contains(got.stderr, "no space left") || !strings.Contains(got.stdout, "ralph resume") {
			t.Errorf("exit %d\n%s%s", got.code, got.stdout, got.stderr)
		}
		must(t, os.Remove(filepath.Join(l.project, "big")))
		l.write("enough", "")
		l.wants(0, "resume")
		l.lab.check(1)
		must(t, syscall.Unmount(l.project, syscall.MNT_DETACH))
		l.gone()
	}, "bubblewrap", "docker")
}
