//go:build linux

package gvisor_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// containers is the command line of an engine that runs containers with ralph as
// the runtime.
type containers struct {
	name    string
	program []string // comes before run, rm, ...
	runs    []string // comes after run
	env     []string
	as      *syscall.Credential
	cgroups bool
}

// forEachEngine runs a test with Docker, with root's Podman and with a user's.
// scripts/engines.sh sets them up.
func forEachEngine(t *testing.T, test func(t *testing.T, c containers)) {
	t.Helper()
	for _, name := range []string{"docker", "podman", "rootless"} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("sandboxes are not for -short")
			}
			c, err := engineFromEnv(t, name)
			if err != nil {
				sandboxtest.SkipEngine(t, err)
			}
			test(t, c)
		})
	}
}

func engineFromEnv(t *testing.T, name string) (containers, error) {
	c := containers{name: name, cgroups: name != "rootless", runs: []string{"--network", "none", "--pull", "never"}}
	if os.Geteuid() != 0 {
		t.Skip("root sets up the engines that have it")
	}
	missing := fmt.Errorf("%s with runsc is not set up: run go test by scripts/engines.sh", name)
	switch name {
	case "docker":
		if !slices.Contains(strings.Fields(os.Getenv("RALPH_TEST_DOCKER_RUNTIMES")), "runsc") {
			return c, missing
		}
		c.program = []string{"docker", "--host", os.Getenv("RALPH_TEST_DOCKER_HOST")}
		c.runs = append(c.runs, "--runtime", "runsc")
	case "podman":
		if os.Getenv("RALPH_TEST_PODMAN") == "" {
			return c, missing
		}
		c.program = []string{"podman", "--runtime", runtimeCopy(t)}
	case "rootless":
		if os.Getenv("RALPH_TEST_ROOTLESS") == "" {
			return c, missing
		}
		home := os.Getenv("RALPH_TEST_ROOTLESS_HOME")
		owner, err := os.Stat(home)
		if err != nil {
			return c, err
		}
		id := owner.Sys().(*syscall.Stat_t)
		c.as = &syscall.Credential{Uid: id.Uid, Gid: id.Gid}
		c.env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + home, "XDG_RUNTIME_DIR=" + os.Getenv("RALPH_TEST_ROOTLESS_RUN")}
		c.program = []string{"podman", "--runtime", runtimeCopy(t)}
	}
	return c, nil
}

// runtimeCopy is the ralph under test by the name that makes it a runtime, where
// an ordinary user can reach it.
func runtimeCopy(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, above := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(above, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(binaries.Ralph)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "runsc")
	if err := os.WriteFile(path, content, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func (c containers) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.program[0], append(slices.Clone(c.program[1:]), args...)...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", c.env, &syscall.SysProcAttr{Credential: c.as}
	return cmd
}

// run runs a shell script in a container and returns what it said.
func (c containers) run(t *testing.T, options []string, script string) (said string, code int) {
	t.Helper()
	args := slices.Concat([]string{"run", "--rm", "-i"}, c.runs, options, []string{os.Getenv("RALPH_TEST_IMAGE"), "sh", "-c", script})
	out, err := c.command(t, args...).CombinedOutput()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	if exited != nil {
		code = exited.ExitCode()
	}
	return string(out), code
}

func TestRuntimeRunsContainers(t *testing.T) {
	forEachEngine(t, func(t *testing.T, c containers) {
		said, code := c.run(t, []string{"--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"}, "uname -r; exit 37")
		if !strings.Contains(said, "gvisor") || code != 37 {
			t.Errorf("exit %d: %s", code, said)
		}
	})
}

func TestRuntimePassesStreams(t *testing.T) {
	forEachEngine(t, func(t *testing.T, c containers) {
		sent := make([]byte, 16<<20)
		_, _ = rand.Read(sent)
		cmd := c.command(t, slices.Concat([]string{"run", "--rm", "-i"}, c.runs, []string{os.Getenv("RALPH_TEST_IMAGE"), "cat"})...)
		cmd.Stdin = bytes.NewReader(sent)
		if got, err := cmd.Output(); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("sent %d bytes, got %d: %v", len(sent), len(got), err)
		}
	})
}

// Without a network there is a loopback device that works, and no other.
func TestRuntimeHasLoopback(t *testing.T) {
	const script = `tail -n +3 /proc/net/dev | cut -d: -f1; python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 0))
print(socket.create_connection(s.getsockname()).getpeername()[0])'`
	forEachEngine(t, func(t *testing.T, c containers) {
		if said, code := c.run(t, nil, script); code != 0 || !slices.Equal(strings.Fields(said), []string{"lo", "127.0.0.1"}) {
			t.Errorf("exit %d: %s", code, said)
		}
	})
}

// The filters of our own engine hold here too: no setuid file in a folder of the
// host, no disk that is reserved in no time, no socket of the host.
func TestRuntimeGuardsTheHost(t *testing.T) {
	const script = `cd /ws; touch a b; chmod 4755 a; chmod 2755 b; mkdir -m 2755 d
fallocate -l 1G big 2>&1
python3 -c '
import socket
try: socket.socket(socket.AF_UNIX).connect("/ws/socket"); print("connected")
except OSError as e: print("refused")'`
	forEachEngine(t, func(t *testing.T, c containers) {
		dir := t.TempDir()
		if c.as != nil {
			openFor(t, dir, c.as)
		}
		listener, err := net.Listen("unix", filepath.Join(dir, "socket"))
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		if err := os.Chmod(filepath.Join(dir, "socket"), 0o777); err != nil {
			t.Fatal(err)
		}
		said, _ := c.run(t, []string{"-v", dir + ":/ws"}, script)
		if !strings.Contains(said, "refused") || strings.Contains(said, "connected") {
			t.Errorf("the socket of the host: %s", said)
		}
		for _, name := range []string{"a", "b", "d", "big"} {
			info, err := os.Lstat(filepath.Join(dir, name))
			if err != nil {
				t.Error(err)
				continue
			}
			if info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 || !info.IsDir() && info.Size() > 0 {
				t.Errorf("%s is %v, %d bytes: %s", name, info.Mode(), info.Size(), said)
			}
		}
	})
}

// openFor gives a folder of the test to the user of the engine.
func openFor(t *testing.T, dir string, as *syscall.Credential) {
	t.Helper()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
		t.Fatal(err)
	}
}

func TestRuntimeKeepsTheMemoryLimit(t *testing.T) {
	forEachEngine(t, func(t *testing.T, c containers) {
		if !c.cgroups {
			t.Skip("without root there are no cgroups of version 1")
		}
		said, code := c.run(t, []string{"--memory", "128m"}, `exec python3 -c 'x = [b"a" * (1 << 20) for i in range(400)]; print(len(x))'`)
		if code != 137 || strings.Contains(said, "400") {
			t.Errorf("exit %d: %s", code, said)
		}
	})
}

// Removing a container is quick in all its states. Docker waits for ten seconds
// when the runtime does not do its part.
func TestRuntimeEndsPausedContainers(t *testing.T) {
	forEachEngine(t, func(t *testing.T, c containers) {
		if !c.cgroups {
			t.Skip("without root and cgroups Podman does not pause")
		}
		name := fmt.Sprintf("ralph-test-%d-%s", os.Getpid(), c.name)
		for _, args := range [][]string{
			slices.Concat([]string{"run", "-d", "--name", name}, c.runs, []string{os.Getenv("RALPH_TEST_IMAGE"), "sleep", "1000"}),
			{"exec", name, "true"},
			{"pause", name},
		} {
			if out, err := c.command(t, args...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %v: %s", args, err, out)
			}
		}
		start := time.Now()
		if out, err := c.command(t, "rm", "-f", name).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
		if took := time.Since(start); took > 8*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// An annotation, which Podman takes over from an image, cannot open the sandbox.
func TestRuntimeRefusesAnnotations(t *testing.T) {
	forEachEngine(t, func(t *testing.T, c containers) {
		if c.name == "docker" {
			t.Skip("this Docker has no annotations")
		}
		said, code := c.run(t, []string{"--annotation", "dev.gvisor.flag.host-uds=all"}, "echo inside")
		if code == 0 || strings.Contains(said, "inside\n") || !strings.Contains(said, "annotation") {
			t.Errorf("exit %d: %s", code, said)
		}
	})
}
