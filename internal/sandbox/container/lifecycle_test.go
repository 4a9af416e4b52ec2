//go:build linux

package container_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
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
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

// patience is how long anything here may take on a busy machine.
const patience = 30 * time.Second

// inTheMiddle starts a command that lasts, does something to the sandbox once the
// command runs, and returns what the command got.
func inTheMiddle(t *testing.T, sb sandbox.Sandbox, do func()) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	started := make(chan struct{})
	out := writerFunc(func(p []byte) (int, error) {
		close(started)
		return len(p), nil
	})
	result := make(chan error, 1)
	go func() {
		_, err := sb.Exec(ctx, sandbox.Command{Args: []string{"sh", "-c", "echo; exec sleep 100"}, Stdout: out})
		result <- err
	}()
	select {
	case <-started:
	case err := <-result:
		t.Fatalf("the command did not start: %v", err)
	}
	do()
	return <-result
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (e testEngine) eventuallyGone(t *testing.T, id string) {
	t.Helper()
	for deadline := time.Now().Add(patience); len(e.containersOf(t, id)) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the container of %s is still there", id)
		}
	}
}

func TestEndedBehindOurBack(t *testing.T) {
	each(t, func(t *testing.T, e testEngine) {
		for _, args := range [][]string{{"rm", "-f"}, {"kill"}} {
			sb := sandboxtest.Create(t, e, sandboxtest.Plain(t))
			err := inTheMiddle(t, sb, func() { e.must(t, append(args, sb.ID())...) })
			if !errors.Is(err, sandbox.ErrGone) || !strings.Contains(err.Error(), "from outside") {
				t.Errorf("%s: error is %v, want ErrGone, and why", args, err)
			}
			if _, err := sb.Exec(t.Context(), sandbox.Command{Args: []string{"true"}}); !errors.Is(err, sandbox.ErrGone) {
				t.Errorf("%s: the next command's error is %v", args, err)
			}
			if err := sb.Close(); err != nil {
				t.Error(err)
			}
			e.eventuallyGone(t, sb.ID())
		}
	})
}

// TestPaused: a container that cannot even end by itself is ended all the same.
func TestPaused(t *testing.T) {
	each(t, func(t *testing.T, e testEngine) {
		sb := sandboxtest.Create(t, e, sandboxtest.Plain(t))
		if _, err := e.command("pause", sb.ID()); err != nil {
			t.Skipf("this engine cannot pause here: %v", err)
		}
		if err := sb.Close(); err != nil {
			t.Error(err)
		}
		if left := e.containersOf(t, sb.ID()); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// TestClientKilled: without its client nobody could talk to the container any
// more.
func TestClientKilled(t *testing.T) {
	each(t, func(t *testing.T, e testEngine) {
		sb := sandboxtest.Create(t, e, sandboxtest.Plain(t))
		err := inTheMiddle(t, sb, func() { killClient(t, sb.ID()) })
		if !errors.Is(err, sandbox.ErrGone) || !strings.Contains(err.Error(), "killed") {
			t.Errorf("error is %v, want ErrGone, and why", err)
		}
		if err := sb.Close(); err != nil {
			t.Error(err)
		}
		e.eventuallyGone(t, sb.ID())
	})
}

// killClient kills the child of ours that is the client of a sandbox.
func killClient(t *testing.T, id string) {
	t.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		args, _ := os.ReadFile(file)
		stat, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		if strings.Contains(string(args), id) && strings.Contains(string(stat), fmt.Sprintf("PPid:\t%d\n", os.Getpid())) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("the client was not found")
}

// ownerVar makes this test binary the owner of a sandbox that another test kills.
const ownerVar = "RALPH_TEST_OWNER"

// TestOwner is no test: it is the ralph that dies in TestRalphKilled.
func TestOwner(t *testing.T) {
	flavour, state, found := strings.Cut(os.Getenv(ownerVar), ":")
	if !found {
		t.Skip("only for TestRalphKilled")
	}
	o, err := engineOptions(container.Flavour(flavour), state)
	if err != nil {
		t.Fatal(err)
	}
	workspace := filepath.Join(filepath.Dir(state), "work")
	spec := sandboxtest.Plain(t)
	spec.Mounts[0].Source = workspace
	sb, err := container.New(o).Create(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("owns " + sb.ID())
	_, err = sb.Exec(context.Background(), sandbox.Command{Args: []string{"sleep", "100"}})
	t.Fatal(err)
}

// TestRalphKilled: whatever kills ralph, its container ends with it, the next
// ralph clears up, and the user's files are not touched.
func TestRalphKilled(t *testing.T) {
	each(t, func(t *testing.T, e testEngine) {
		dir := sandboxtest.StateDir(t)
		state, kept := filepath.Join(dir, "state"), filepath.Join(dir, "work", "kept")
		if err := errors.Join(os.Mkdir(state, 0o711), os.Mkdir(filepath.Dir(kept), 0o755), os.WriteFile(kept, []byte("mine"), 0o644)); err != nil {
			t.Fatal(err)
		}
		id := killedOwner(t, e, state)
		e.eventuallyGone(t, id)
		o := e.options
		o.StateDir = state
		again := container.New(o)
		if list, err := again.List(t.Context()); err != nil || len(list) != 1 || list[0].State != sandbox.Stale {
			t.Errorf("before: %+v, %v", list, err)
		}
		sandboxtest.Create(t, again, sandboxtest.Plain(t))
		if list, err := again.List(t.Context()); err != nil || len(list) != 1 || list[0].ID == id {
			t.Errorf("after: %+v, %v", list, err)
		}
		if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || strings.Contains(string(mounts), id) {
			t.Errorf("a mount of the dead one is left: %v", err)
		}
		if text, err := os.ReadFile(kept); err != nil || string(text) != "mine" {
			t.Errorf("the user's file: %q, %v", text, err)
		}
	})
}

// killedOwner starts a ralph that owns a sandbox, kills it, and returns the
// sandbox's id.
func killedOwner(t *testing.T, e testEngine, state string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestOwner$", "-test.v")
	cmd.Env = append(os.Environ(), ownerVar+"="+string(e.options.Flavour)+":"+state, binaries.Prebuilt())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	id := ""
	for lines := bufio.NewScanner(out); id == "" && lines.Scan(); {
		if _, after, ok := strings.Cut(lines.Text(), "owns "); ok {
			id = after
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if id == "" {
		t.Fatal("no sandbox was made")
	}
	return id
}

// TestSweep: what dead ralphs left is ended, even if it is paused or on no roster;
// what belongs to others is not.
func TestSweep(t *testing.T) {
	each(t, func(t *testing.T, e testEngine) {
		alive := sandboxtest.Create(t, e, sandboxtest.Plain(t))
		label := func(name string) string {
			return e.must(t, "inspect", "--format", `{{index .Config.Labels "`+name+`"}}`, alive.ID())
		}
		start := func(id, state string) string {
			args := []string{"run", "-d", "--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"}
			if e.options.Flavour == container.Podman && os.Geteuid() != 0 {
				args = append(args, "--userns", "keep-id")
			}
			args = append(args, "--label", "io.ralph.sandbox="+id, "--label", "io.ralph.state="+state, "--label", "io.ralph.owner="+label("io.ralph.owner"), testImage, "sleep", "100")
			made := e.must(t, args...)
			t.Cleanup(func() {
				_, _ = e.command("kill", made)
				_, _ = e.command("rm", "-f", made)
			})
			return made
		}
		orphan, other := start("ralph-aaaaaaaaaaaa", label("io.ralph.state")), start("ralph-bbbbbbbbbbbb", "0123456789abcdef")
		_, _ = e.command("pause", orphan) // where it can be
		sandboxtest.Create(t, e, sandboxtest.Plain(t))
		e.eventuallyGone(t, "ralph-aaaaaaaaaaaa")
		if left := e.containersOf(t, "ralph-bbbbbbbbbbbb"); len(left) != 1 {
			t.Errorf("another's container %s is gone", other)
		}
		if got := sandboxtest.Output(t, alive, "echo", "alive"); got != "alive\n" {
			t.Errorf("got %q", got)
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	each(t, func(t *testing.T, e testEngine) {
		results := make(chan error, 4)
		for i := range cap(results) {
			go func() {
				sb, err := e.Create(t.Context(), sandboxtest.Plain(t))
				if err != nil {
					results <- err
					return
				}
				var out strings.Builder
				_, err = sb.Exec(t.Context(), sandbox.Command{Args: []string{"echo", strconv.Itoa(i)}, Stdout: &out})
				if err == nil && out.String() != fmt.Sprintln(i) {
					err = fmt.Errorf("got %q", out.String())
				}
				results <- errors.Join(err, sb.Close())
			}()
		}
		for range cap(results) {
			if err := <-results; err != nil {
				t.Error(err)
			}
		}
	})
}
