//go:build linux

package gvisor

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

func someRecord(id string, created time.Time) record {
	return record{Launcher: 42, Status: sandbox.Status{
		ID: id, Engine: Name, State: sandbox.Running, Workspace: "/w", PID: 41,
		CreatedAt: created, Labels: map[string]string{"run": "1"}, Fingerprint: "0123",
	}}
}

func TestRecordIsReadAsWritten(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []record{someRecord("ralph-0", time.Unix(1, 0).UTC()), someRecord("ralph-1", time.Unix(2, 0).UTC())} {
		if err := writeRecord(dir, want); err != nil {
			t.Fatal(err)
		}
		if got, err := readRecord(dir); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("left are %v, %v", entries, err)
	}
	if info, err := entries[0].Info(); err != nil || info.Mode() != 0o600 {
		t.Errorf("others may read it: %v, %v", info.Mode(), err)
	}
}

func TestRecordErrors(t *testing.T) {
	dir := t.TempDir()
	if err := writeRecord(filepath.Join(dir, "missing"), record{}); err == nil {
		t.Error("wrote to a folder that is not there")
	}
	if _, err := readRecord(dir); err == nil || !strings.HasPrefix(err.Error(), "reading the sandbox's state: ") {
		t.Errorf("got %v", err)
	}
	for _, text := range []string{"", "{", "[]", `{"pid":"x"}`, "\x00\x00"} {
		if err := os.WriteFile(statePath(dir), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readRecord(dir); err == nil {
			t.Errorf("%q was taken for a record", text)
		}
	}
}

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

func TestScan(t *testing.T) {
	base := t.TempDir()
	const running, stale, lying, empty, broken = "ralph-000000000001", "ralph-000000000002", "ralph-000000000003", "ralph-00000000000a", "ralph-00000000000b"
	folders(t, base,
		"notes", "notes.d/", ".new-ralph-0123456789ab/runsc/", "ralph-/", "ralph-0123456789AB/", "ralph-0123456789abc/",
		"ralph-0123456789ab\n/", "xralph-0123456789ab/", "ralph-0123456789a\u0661/",
		running+"/", stale+"/lock", lying+"/lock", empty+"/", broken+"/state.json")
	lock, err := createLock(filepath.Join(base, running))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	liar := someRecord("../../etc", time.Unix(100, 0).UTC())
	liar.Engine = "other"
	for id, r := range map[string]record{
		running: someRecord(running, time.Unix(300, 0).UTC()),
		stale:   someRecord(stale, time.Unix(200, 0).UTC()),
		lying:   liar,
	} {
		if err := writeRecord(filepath.Join(base, id), r); err != nil {
			t.Fatal(err)
		}
	}

	records, err := scan(base)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range records {
		if r.Engine != Name || r.CreatedAt.IsZero() {
			t.Errorf("got %+v", r)
		}
		got = append(got, r.ID+" "+string(r.State))
	}
	// Those without a record are as old as their folder, so they come last.
	want := []string{lying + " stale", stale + " stale", running + " running"}
	if len(got) != 5 || !reflect.DeepEqual(got[:3], want) || !strings.Contains(strings.Join(got[3:], ","), empty+" stale") ||
		!strings.Contains(strings.Join(got[3:], ","), broken+" stale") {
		t.Errorf("got %q, want %q, and then %s and %s", got, want, empty, broken)
	}
}

func TestScanOfNothing(t *testing.T) {
	if records, err := scan(filepath.Join(t.TempDir(), "missing")); err != nil || records != nil {
		t.Errorf("got %v, %v", records, err)
	}
}

// A scan looks at locks but must not keep them.
func TestLocks(t *testing.T) {
	dir := t.TempDir()
	if _, err := takeLock(dir); err == nil {
		t.Error("took a lock that is not there")
	}
	lock, err := createLock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := createLock(dir); err == nil {
		t.Error("made the same lock twice")
	}
	if again, err := takeLock(dir); again != nil || err != nil {
		t.Errorf("took a lock that is held: %v", err)
	}
	lock.Close()
	if _, gone := look(dir, fs.FileInfoToDirEntry(stat(t, dir))); gone {
		t.Error("the folder is there")
	}
	if again, err := takeLock(dir); again == nil || err != nil {
		t.Errorf("did not get the lock: %v", err)
	} else {
		again.Close()
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

func TestNewIDIsValid(t *testing.T) {
	a, err1 := newID()
	b, err2 := newID()
	if err1 != nil || err2 != nil || a == b || !validID.MatchString(a) {
		t.Errorf("got %q and %q, %v, %v", a, b, err1, err2)
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
