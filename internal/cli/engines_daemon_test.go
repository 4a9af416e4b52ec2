//go:build linux

package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/rundir"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// daemon is a dockerd of a test's own: without bridge and firewall rules, and with
// folders that nobody else uses.
type daemon struct {
	t   *testing.T
	dir string
	cmd *exec.Cmd
}

// newDaemon starts one. Its name is short because sockets are in its folder.
func newDaemon(t *testing.T) *daemon {
	t.Helper()
	if _, err := exec.LookPath("dockerd"); err != nil || os.Geteuid() != 0 || os.Getenv(dockerVar) == "" {
		sandboxtest.SkipEngine(t, fmt.Errorf("no dockerd can be started here: root and %s are needed (%w)", dockerVar, err))
	}
	dir, err := os.MkdirTemp("", "rdk")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "settings.json"), []byte("{}"), 0o600)) // not the machine's
	d := &daemon{t: t, dir: dir}
	t.Cleanup(d.remove)
	d.start()
	return d
}

func (d *daemon) host() string { return "unix://" + filepath.Join(d.dir, "sock") }

// start returns when the daemon answers.
func (d *daemon) start() {
	d.t.Helper()
	for _, stale := range []string{"pid", "exec/containerd/containerd.pid"} { // of one that was killed
		_ = os.Remove(filepath.Join(d.dir, stale))
	}
	log, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	must(d.t, err)
	defer log.Close()
	d.cmd = exec.Command("dockerd", "--host", d.host(), "--data-root", filepath.Join(d.dir, "data"), "--exec-root", filepath.Join(d.dir, "exec"),
		"--pidfile", filepath.Join(d.dir, "pid"), "--config-file", filepath.Join(d.dir, "settings.json"), "--bridge", "none", "--iptables=false", "--ip6tables=false")
	d.cmd.Stdout, d.cmd.Stderr = log, log
	must(d.t, d.cmd.Start())
	l := &lab{t: d.t}
	l.until("dockerd answers", func() bool { return exec.Command("docker", "-H", d.host(), "version").Run() == nil })
}

// end sends a signal and waits for the daemon alone.
func (d *daemon) end(signal syscall.Signal) {
	must(d.t, d.cmd.Process.Signal(signal))
	_ = d.cmd.Wait() // that it was killed is known
}

// remove ends the daemon with all its containers, and deletes its folders.
func (d *daemon) remove() {
	if d.cmd.ProcessState != nil {
		d.start() // which alone can end what it started
	}
	d.end(syscall.SIGTERM)
	_ = syscall.Unmount(filepath.Join(d.dir, "data"), syscall.MNT_DETACH) // which one that was killed leaves
	if err := os.RemoveAll(d.dir); err != nil {
		d.t.Error(err)
	}
}

// TestEnginesLoseTheirDaemon: when the daemon is killed the run ends at once, says why
// and what to do; when it is back, the run goes on, and nothing of before is left.
func TestEnginesLoseTheirDaemon(t *testing.T) {
	d := newDaemon(t)
	t.Setenv(dockerVar, d.host())
	l := newFaultLab(t, "docker")
	s := l.atWork()
	d.end(syscall.SIGKILL)
	got := s.wait()
	for _, want := range []string{"docker went away while the container ran", "ralph: hint: sudo systemctl start docker"} {
		if got.code != 5 || !strings.Contains(got.stderr, want) {
			t.Errorf("exit %d, want it to say %q\n%s%s", got.code, want, got.stdout, got.stderr)
		}
	}
	if !strings.Contains(got.stdout, "failed: the sandbox is gone: docker went away") || !strings.Contains(got.stdout, "ralph resume ") {
		t.Errorf("it ends with\n%s", got.stdout)
	}
	a := l.read()
	if exit := of[rundir.AgentExit](t, a, rundir.EventAgentExit); a.state.Status != rundir.Failed || len(exit) != 1 || !strings.Contains(exit[0].Why, "docker went away") {
		t.Errorf("the record says %s, %+v", a.state.Status, exit)
	}
	if got := l.ralph("sandbox", "ls"); !strings.Contains(got.stdout, "stale") {
		t.Errorf("what may still be there is not listed: %s%s", got.stdout, got.stderr)
	}

	if got := l.ralph("resume"); got.code != 5 || !strings.Contains(got.stderr, "docker does not answer") {
		t.Errorf("resume without a daemon: exit %d\n%s", got.code, got.stderr)
	}
	d.start()
	l.wants(0, "resume")
	l.check(1)
}
