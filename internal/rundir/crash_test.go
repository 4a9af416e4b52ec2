package rundir

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/agent-loop/ralph/internal/money"
)

// crashRoot tells the test binary to be a writer that will be killed.
const crashRoot = "RUNDIR_TEST_CRASH_ROOT"

func TestMain(m *testing.M) {
	if root := os.Getenv(crashRoot); root != "" {
		fmt.Println("error:", crashWriter(root))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// crashWriter goes on with a run as a loop does, for ever, and prints the number of
// each iteration once it is recorded.
func crashWriter(root string) error {
	r, err := Open(root, "one", Options{})
	if err != nil {
		return err
	}
	// The kill before may have come between an iteration and its checkpoint.
	if n, _, err := r.LastCheckpoint(); err != nil {
		return err
	} else if n < r.Iterated() {
		if err := r.SaveCheckpoint(r.Iterated(), Checkpoint{}); err != nil {
			return err
		}
	}
	for n := r.Iterated() + 1; ; n++ {
		for range 20 {
			if err := r.AppendRaw("agent", n, bytes.Repeat([]byte("x"), rand.IntN(3000))); err != nil {
				return err
			}
		}
		if err := errors.Join(
			r.Append(EventCharge, n, Charge{Spend: Spend{CostUSD: money.Cent}}),
			r.AppendIteration(Iteration{N: n, Outcome: "ok"})); err != nil {
			return err
		}
		fmt.Println(n)
		if err := errors.Join(
			r.SaveCheckpoint(n, Checkpoint{Summary: strings.Repeat("s", n)}),
			r.SaveState(State{Status: Running})); err != nil {
			return err
		}
	}
}

// runAndKill starts a writer, kills it after a while, and returns the last
// iteration that it said was recorded.
func runAndKill(t *testing.T, root string, lifetime time.Duration) (last int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashRoot+"="+root)
	out, err := cmd.StdoutPipe()
	must(t, err, cmd.Start())
	kill := time.AfterFunc(lifetime, func() { cmd.Process.Kill() })
	defer kill.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, err := fmt.Sscan(lines.Text(), &last); err != nil {
			t.Errorf("the writer says: %s", lines.Text())
		}
	}
	cmd.Wait() // it was killed
	return last
}

func TestKilledAtAnyTimeNothingIsLostOrDoubled(t *testing.T) {
	root := t.TempDir()
	must(t, create(t, root, "one", Options{}).Close())
	kills := 25
	if testing.Short() {
		kills = 5
	}
	for range kills {
		said := runAndKill(t, root, 20*time.Millisecond+rand.N(60*time.Millisecond))
		if _, err := Verify(root, "one"); err != nil {
			t.Fatalf("verify after a kill: %v", err)
		}
		r, err := Open(root, "one", Options{})
		if err != nil {
			t.Fatalf("open after a kill: %v", err)
		}
		if r.Iterated() < said {
			t.Fatalf("iteration %d was recorded, %d are left", said, r.Iterated())
		}
		if n, _, err := r.LastCheckpoint(); err != nil || n < r.Iterated()-1 {
			t.Fatalf("last checkpoint %d of %d iterations: %v", n, r.Iterated(), err)
		}
		must(t, r.Close())
		if _, err := Verify(root, "one"); err != nil {
			t.Fatalf("verify after recovery: %v", err)
		}
	}
	r, err := Open(root, "one", Options{})
	must(t, err)
	must(t, r.SaveState(State{Status: Done}), r.Close())
	report, err := Verify(root, "one")
	must(t, err)
	if report.Iterations == 0 || report.Unsealed != 0 {
		t.Errorf("report: %+v", report)
	}
	t.Logf("%d kills, %d iterations, %d events", kills, report.Iterations, report.Events)
}

// memoryDir is a folder that is quick to sync, where there is one.
func memoryDir(t *testing.T) string {
	folder, err := os.MkdirTemp("/dev/shm", "rundir-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return folder
}

// TestTornAtEveryByte cuts the logs of a run as a kill in the middle of a write
// would have, after the last state was saved.
func TestTornAtEveryByte(t *testing.T) {
	root := memoryDir(t)
	r := create(t, root, "one", Options{})
	iterate(t, r, 1)
	sealed := r.Head().Bytes
	must(t, r.Append("x", 2, "one"), r.AppendRaw("y", 2, []byte("two")), r.Close())
	path := filepath.Join(root, "one", eventsPath)
	content, err := os.ReadFile(path)
	must(t, err)
	state, err := os.ReadFile(filepath.Join(root, "one", stateFile))
	must(t, err)
	for size := int(sealed); size <= len(content); size++ {
		must(t, os.WriteFile(path, content[:size], 0o600), os.WriteFile(filepath.Join(root, "one", stateFile), state, 0o600))
		r, err := Open(root, "one", Options{})
		if err != nil {
			t.Fatalf("cut at %d: %v", size, err)
		}
		whole := bytes.Count(content[:size], []byte("\n"))
		torn := content[size-1] != '\n'
		if want := int64(whole); torn && r.Head().Count != want+1 || !torn && r.Head().Count != want {
			t.Fatalf("cut at %d: %d events, %d were whole", size, r.Head().Count, whole)
		}
		must(t, r.SaveState(State{Status: Done}), r.Close())
		if _, err := Verify(root, "one"); err != nil {
			t.Fatalf("cut at %d: %v", size, err)
		}
	}
}

// TestKilledWhileRecordingAnIteration plays every state that AppendIteration can
// leave: half a line, a line without event.
func TestKilledWhileRecordingAnIteration(t *testing.T) {
	root := memoryDir(t)
	r := create(t, root, "one", Options{})
	iterate(t, r, 1)
	must(t, r.Append(EventCharge, 2, Charge{Spend: Spend{CostUSD: 5}}), r.Sync())
	head := r.Head()
	must(t, r.AppendIteration(Iteration{N: 2, Outcome: "ok"}), r.Close())
	events, iterations := filepath.Join(r.Path(), eventsPath), filepath.Join(r.Path(), iterationsPath)
	content, err := os.ReadFile(iterations)
	must(t, err)
	first := bytes.IndexByte(content, '\n') + 1
	for size := first; size <= len(content); size++ {
		must(t, os.Truncate(events, head.Bytes), os.WriteFile(iterations, content[:size], 0o600))
		_, err := Verify(root, "one")
		must(t, err)
		r, err := Open(root, "one", Options{})
		if err != nil {
			t.Fatalf("cut at %d: %v", size, err)
		}
		if whole := size == len(content); whole != (r.Iterated() == 2) {
			t.Fatalf("cut at %d: %d iterations", size, r.Iterated())
		}
		must(t, r.AppendIteration(Iteration{N: 2, Outcome: "again"}), r.Close())
		if report, err := Verify(root, "one"); err != nil || report.Iterations != 2 {
			t.Fatalf("cut at %d: %+v, %v", size, report, err)
		}
	}
}

// TestKilledWhileSavingACheckpoint plays a kill between event and file.
func TestKilledWhileSavingACheckpoint(t *testing.T) {
	for _, n := range []int{1, 2} { // one that replaces, one that is new
		root := t.TempDir()
		r := create(t, root, "one", Options{})
		iterate(t, r, 1)
		path := filepath.Join(r.Path(), checkpointPath(n))
		before, _ := os.ReadFile(path)
		must(t, r.SaveCheckpoint(n, Checkpoint{Summary: "new"}), r.Close(), os.Remove(path))
		if before != nil {
			must(t, os.WriteFile(path, before, 0o600))
		}
		_, err := Verify(root, "one")
		must(t, err)
		for range 2 { // the second time there is nothing to mend
			r, err = Open(root, "one", Options{})
			must(t, err)
			if n, c, err := r.LastCheckpoint(); n != 1 || c.Summary != "did it" || err != nil {
				t.Fatalf("got %d %+v, %v", n, c, err)
			}
			must(t, r.SaveState(State{Status: Paused}), r.Close())
			_, err = Verify(root, "one")
			must(t, err)
		}
	}
}

func TestRepairIsAnEvent(t *testing.T) {
	root := t.TempDir()
	must(t, create(t, root, "one", Options{}).Close())
	file, err := os.OpenFile(filepath.Join(root, "one", eventsPath), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = io.WriteString(file, `{"seq":3,"ti`)
	must(t, err, file.Close())
	r, err := Open(root, "one", Options{})
	must(t, err)
	must(t, r.Close())
	for e, err := range r.reopened(t, root).Events(3) {
		must(t, err)
		var what repair
		must(t, json.Unmarshal(e.Data, &what))
		if e.Type != EventRepair || what.File != eventsPath || what.CutBytes != 12 {
			t.Errorf("got %+v: %+v", e, what)
		}
	}
}
