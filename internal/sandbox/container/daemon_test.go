//go:build linux

package container_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/container"
	"github.com/agent-loop/ralph/internal/sandbox/idmap"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// daemon is a docker of the test's own, to be mistreated. Its files lie on a small
// disk in memory.
type daemon struct {
	t    *testing.T
	dir  string
	cmd  *exec.Cmd
	done chan struct{}
}

func newDaemon(t *testing.T) *daemon {
	t.Helper()
	if testing.Short() {
		t.Skip("sandboxes are not for -short")
	}
	program, err := exec.LookPath("dockerd")
	if err != nil || os.Geteuid() != 0 {
		t.Skipf("a docker of its own needs root, and dockerd: %v", err)
	}
	dir, err := os.MkdirTemp("/tmp", "rd") // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	if err := errors.Join(os.Mkdir(data, 0o711), syscall.Mount("tmpfs", data, "tmpfs", 0, "size=32m,mode=711")); err != nil {
		t.Fatal(err)
	}
	d := &daemon{t: t, dir: dir}
	t.Cleanup(func() {
		d.stop(syscall.SIGTERM)
		d.killShims()
		if err := idmap.UnmountBelow(dir); err != nil {
			t.Error(err)
			return
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	d.start(program)
	return d
}

func (d *daemon) host() string { return "unix://" + filepath.Join(d.dir, "s") }

// start starts it and waits until it answers.
func (d *daemon) start(program string) {
	d.t.Helper()
	d.cmd = exec.Command(program, "--host", d.host(), "--data-root", filepath.Join(d.dir, "data"), "--exec-root", filepath.Join(d.dir, "exec"),
		"--pidfile", filepath.Join(d.dir, "pid"), "--config-file", filepath.Join(d.dir, "none.json"), "--bridge", "none", "--iptables=false", "--ip6tables=false")
	if err := os.WriteFile(filepath.Join(d.dir, "none.json"), []byte("{}"), 0o600); err != nil {
		d.t.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer log.Close()
	d.cmd.Stdout, d.cmd.Stderr = log, log
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	done := make(chan struct{})
	d.done = done
	go func() {
		_ = d.cmd.Wait()
		close(done)
	}()
	for deadline := time.Now().Add(patience); exec.Command("docker", "-H", d.host(), "version").Run() != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(filepath.Join(d.dir, "log"))
			sandboxtest.SkipEngine(d.t, errors.New("dockerd does not start: "+string(text)))
		}
	}
}

func (d *daemon) stop(signal syscall.Signal) {
	_ = d.cmd.Process.Signal(signal)
	<-d.done
}

// killShims ends what a daemon that was killed left behind, if no other has: each
// shim, and with it its container.
func (d *daemon) killShims() {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		args, _ := os.ReadFile(file)
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && strings.Contains(string(args), d.dir+"/") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// again starts one in the place of a daemon that was killed. Where nobody collects
// the dead, its helper seems alive by the number that it left.
func (d *daemon) again() {
	d.t.Helper()
	_ = os.Remove(filepath.Join(d.dir, "exec", "containerd", "containerd.pid"))
	d.start(d.cmd.Path)
}

func (d *daemon) engine() testEngine {
	d.t.Helper()
	o := container.Options{
		Flavour: container.Docker, StateDir: sandboxtest.StateDir(d.t), Binary: binaries.Ralph,
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.dir, "DOCKER_HOST=" + d.host()},
	}
	return testEngine{sandboxtest.Usable(d.t, container.New(o)), o}
}

// TestDaemonKilled: the container outlives its daemon, but not the next one, and
// everybody is told.
func TestDaemonKilled(t *testing.T) {
	d := newDaemon(t)
	e := d.engine()
	sb, err := e.Create(t.Context(), sandboxtest.Plain(t))
	if err != nil {
		t.Fatal(err)
	}
	err = inTheMiddle(t, sb, func() { d.stop(syscall.SIGKILL) })
	if !errors.Is(err, sandbox.ErrGone) || !strings.Contains(err.Error(), "went away") {
		t.Errorf("error is %v, want ErrGone, and why", err)
	}
	if err := sb.Close(); err == nil || !strings.Contains(err.Error(), sb.ID()) {
		t.Errorf("Close gives %v, although the container may be alive", err)
	}
	if _, err := e.Create(t.Context(), sandboxtest.Plain(t)); err == nil {
		t.Error("a sandbox was made without a daemon")
	}
	d.again()
	next := sandboxtest.Create(t, e, sandboxtest.Plain(t))
	e.eventuallyGone(t, sb.ID())
	if list, err := e.List(t.Context()); err != nil || len(list) != 1 || list[0].ID != next.ID() {
		t.Errorf("List gives %+v, %v", list, err)
	}
}

// TestFullDisk: docker has no room left for a container.
func TestFullDisk(t *testing.T) {
	d := newDaemon(t)
	e := d.engine()
	sandboxtest.Output(t, sandboxtest.Create(t, e, sandboxtest.Plain(t)), "true")
	filler := filepath.Join(d.dir, "data", "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 1<<20))
	}
	for err = nil; err == nil; { // to the last byte
		_, err = f.Write(make([]byte, 512))
	}
	f.Close()
	spec := sandboxtest.Plain(t)
	_, err = e.Create(t.Context(), spec)
	if err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("error is %v", err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	sandboxtest.Output(t, sandboxtest.Create(t, e, spec), "true")
}
