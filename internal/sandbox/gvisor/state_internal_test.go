//go:build linux

package gvisor

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// folders makes entries below base: a name ending in a slash is a folder.
func folders(t *testing.T, base string, entries ...string) {
	t.Helper()
	for _, name := range entries {
		path := filepath.Join(base, name)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil && strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o700)
		} else if err == nil {
			err = os.WriteFile(path, []byte("garbage"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func stat(t *testing.T, path string) fs.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// Only names that the engine itself gives may be joined to a path.
func TestRemoveTouchesNothingElse(t *testing.T) {
	base := t.TempDir()
	folders(t, base, Name+"/notes", "victim/file", Name+"/ralph-xyz/file")
	e := New(base, "")
	for _, id := range []string{"", ".", "..", "../victim", "notes", "ralph-xyz", "/", "ralph-0123456789ab/../../victim", "ralph-0123456789ab\n"} {
		if err := e.Remove(t.Context(), id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, path := range []string{Name + "/notes", "victim/file", Name + "/ralph-xyz/file"} {
		stat(t, filepath.Join(base, path))
	}
}

// waiter is a process that waits under another name. It ends by itself when its
// input is closed.
type waiter struct {
	cmd   *exec.Cmd
	input io.Closer
}

// startWaiter returns when the process runs: for a moment after it was started,
// the kernel does not know its arguments yet.
func startWaiter(t *testing.T, argv ...string) waiter {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	cmd := &exec.Cmd{Path: sh, Args: argv}
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	if _, err := io.ReadFull(out, make([]byte, len("ready"))); err != nil {
		t.Fatal(err)
	}
	return waiter{cmd, in}
}

func TestKillLauncher(t *testing.T) {
	const id, script = "ralph-0123456789ab", "echo ready; read x; exit 0"
	for name, tt := range map[string]struct {
		argv []string
		dies bool
	}{
		"the launcher":         {[]string{launcherName, "-c", script, id}, true},
		"another's launcher":   {[]string{launcherName, "-c", script, "ralph-ba9876543210"}, false},
		"no launcher":          {[]string{"sh", "-c", script, id}, false},
		"launcher as argument": {[]string{"sh", "-c", script, launcherName, id}, false},
		"a longer name":        {[]string{launcherName + "er", "-c", script, id}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := startWaiter(t, tt.argv...)
			if err := killLauncher(w.cmd.Process.Pid, id); err != nil {
				t.Fatal(err)
			}
			if state := processState(t, w.cmd.Process.Pid); (state == "Z") != tt.dies {
				t.Errorf("its state is %s", state)
			}
			w.input.Close()
			if err := w.cmd.Wait(); (err != nil) != tt.dies {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

// processState is the letter that stands for what a process is doing.
func processState(t *testing.T, pid int) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(data), ") ")
	return after[:1]
}

func TestKillLauncherOfNobody(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Skip(err)
	}
	for _, pid := range []int{0, -1, cmd.Process.Pid} {
		if err := killLauncher(pid, "ralph-0123456789ab"); err != nil {
			t.Errorf("process %d: %v", pid, err)
		}
	}
}
