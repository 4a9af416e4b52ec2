package roster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// helperVariable makes the test binary another ralph: "hold DIR" adds a sandbox,
// says which and lives until its input ends; "churn DIR" makes and removes
// sandboxes and sweeps, and says how many of its own were gone too early.
const helperVariable = "RALPH_TEST_ROSTER_HELPER"

func TestMain(m *testing.M) {
	what := os.Getenv(helperVariable)
	if what == "" {
		os.Exit(m.Run())
	}
	verb, dir, _ := strings.Cut(what, " ")
	help := map[string]func(*Roster) error{"hold": holdOne, "churn": churn}[verb]
	if err := help(New(engine, dir)); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func holdOne(r *Roster) error {
	e, err := r.Add()
	if err != nil {
		return err
	}
	if err := e.Write(e.Status(sandbox.Spec{}), os.Getpid()); err != nil {
		return err
	}
	fmt.Println(e.ID)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err // the folder stays behind
}

func churn(r *Roster) error {
	for i := range 100 {
		e, err := r.Add()
		if err != nil {
			return err
		}
		r.Sweep(nil)
		if err := e.Write(e.Status(sandbox.Spec{}), i); err != nil {
			return fmt.Errorf("its folder was swept: %w", err)
		}
		if got, err := r.Get(e.ID); err != nil || got.State != sandbox.Running {
			return fmt.Errorf("%+v, %w", got, err)
		}
		if e.Release(); i%2 == 0 {
			if err := e.Remove(); err != nil {
				return err
			}
		}
	}
	return nil
}

func startHelper(t *testing.T, verb string, r *Roster) (*exec.Cmd, io.WriteCloser, *bufio.Reader) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), helperVariable+"="+verb+" "+r.dir)
	cmd.Stderr = os.Stderr
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	must(t, errors.Join(err1, err2, cmd.Start()))
	return cmd, in, bufio.NewReader(out)
}

// otherRalph is another process that holds a sandbox.
func otherRalph(t *testing.T, r *Roster) (id string, kill func() error) {
	t.Helper()
	cmd, in, out := startHelper(t, "hold", r)
	line, err := out.ReadString('\n')
	if id = strings.TrimSpace(line); !validID.MatchString(id) {
		t.Fatalf("the other ralph says %q, %v", line, err)
	}
	kill = sync.OnceValue(func() error {
		err := cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		in.Close()
		return err
	})
	t.Cleanup(func() { _ = kill() })
	return id, kill
}

func TestSweepAfterAnotherRalphsDeath(t *testing.T) {
	r := newRoster(t)
	id, kill := otherRalph(t, r)
	mine := add(t, r)
	never := func(r Record) error { return fmt.Errorf("sweeping %s", r.ID) }
	if r.Sweep(never); !exists(r.path(id)) {
		t.Error("a running sandbox was swept")
	}
	must(t, kill())
	if r.Sweep(never); !exists(r.path(id)) {
		t.Error("the folder is gone, though what it stands for could not be removed")
	}
	must(t, os.Chtimes(r.path(id), time.Now(), time.Now().Add(-2*unfinished)))
	var swept []string
	r.Sweep(func(record Record) error {
		var pid int
		if err := record.Decode(&pid); err != nil || pid != record.PID || !exists(r.path(id)) {
			t.Errorf("sweeping %+v: %v", record, err)
		}
		r.sweep(record, func(Record) error {
			t.Error("it is swept twice at once")
			return nil
		})
		swept = append(swept, record.ID)
		return nil
	})
	if !slices.Equal(swept, []string{id}) || exists(r.path(id)) || !exists(mine.Dir) {
		t.Errorf("swept %q", swept)
	}
}

func TestSweepOfWhatIsNotASandbox(t *testing.T) {
	const id = "ralph-0123456789ab"
	for name, tt := range map[string]struct {
		entry string
		old   bool
		goes  bool
	}{
		"young, without a name":  {newPrefix + id + "/", false, false},
		"old, without a name":    {newPrefix + id + "/", true, true},
		"young, without a lock":  {id + "/", false, false},
		"old, without a lock":    {id + "/", true, true},
		"young, with a lock":     {id + "/lock", false, false}, // and no record
		"old, with a lock":       {id + "/lock", true, true},
		"young, unreadable":      {id + "/state.json", false, false},
		"old, unreadable":        {id + "/state.json", true, true},
		"not ours":               {"notes", true, false},
		"not ours, and a folder": {"ralph-xyz/", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoster(t)
			folders(t, r, tt.entry)
			top := r.path(strings.SplitN(tt.entry, "/", 2)[0])
			if tt.old {
				then := time.Now().Add(-2 * unfinished)
				must(t, os.Chtimes(top, then, then))
			}
			if r.Sweep(nil); exists(top) == tt.goes {
				t.Errorf("it is there: %v", !tt.goes)
			}
		})
	}
}

// Without a lock, a folder is about to be gone: its owner deletes it, or another
// ralph that has cleaned up already.
func TestSweepOfWhatIsBeingDeleted(t *testing.T) {
	r := newRoster(t)
	const id = "ralph-0123456789ab"
	folders(t, r, id+"/")
	must(t, writeRecord(r.path(id), sandbox.Status{}, nil))
	r.Sweep(func(Record) error {
		t.Error("it is swept")
		return nil
	})
	must(t, os.Chtimes(r.path(id), time.Now(), time.Now().Add(-2*unfinished)))
	if r.Sweep(nil); exists(r.path(id)) {
		t.Error("whoever was deleting it died, and it is still there")
	}
}

// A link among the sandboxes is removed, not what it leads to.
func TestSweepFollowsNoLink(t *testing.T) {
	r := newRoster(t)
	precious := filepath.Join(t.TempDir(), "precious")
	must(t, os.MkdirAll(precious, 0o700))
	must(t, os.WriteFile(lockPath(precious), nil, 0o600))
	must(t, writeRecord(precious, sandbox.Status{}, nil))
	must(t, os.MkdirAll(r.dir, 0o700))
	link := r.path("ralph-0123456789ab")
	if os.Symlink(precious, link) != nil {
		t.Skip("no links here")
	}
	if r.Sweep(nil); exists(link) || !exists(lockPath(precious)) {
		t.Errorf("the link is there: %v; the file: %v", exists(link), exists(lockPath(precious)))
	}
}

// However many ralphs sweep at once, the engine cleans up after one at a time.
func TestSweepsAtOnce(t *testing.T) {
	r := newRoster(t)
	for range 20 {
		e := add(t, r)
		must(t, e.Write(e.Status(sandbox.Spec{}), nil))
		e.Release()
	}
	var busy sync.Map
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			r.Sweep(func(record Record) error {
				if _, twice := busy.LoadOrStore(record.ID, true); twice {
					t.Errorf("%s is swept twice at once", record.ID)
				}
				busy.Delete(record.ID)
				return nil
			})
		})
	}
	all.Wait()
	r.Sweep(nil) // what one left alone because another had just looked at it
	if left := names(t, r); len(left) != 0 {
		t.Errorf("left are %q", left)
	}
	r.sweep(Record{Status: sandbox.Status{ID: "ralph-0123456789ab"}}, func(Record) error {
		t.Error("what another ralph has deleted was swept once more")
		return nil
	})
}

// Nothing is swept that another ralph is making right now.
func TestSweepsWhileOthersCreate(t *testing.T) {
	r := newRoster(t)
	must(t, os.MkdirAll(r.dir, 0o700))
	var all sync.WaitGroup
	for range 3 {
		cmd, in, out := startHelper(t, "churn", r)
		all.Go(func() {
			defer in.Close()
			if said, err := io.ReadAll(out); err != nil || len(said) > 0 {
				t.Errorf("another ralph says %q, %v", said, err)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	r.Sweep(nil)
	list, err := r.List()
	if err != nil || slices.ContainsFunc(list, func(r Record) bool { return r.State == sandbox.Running }) {
		t.Errorf("left are %v, %v", list, err)
	}
}

func TestRemoveEndsAnotherRalphsSandbox(t *testing.T) {
	r := newRoster(t)
	id, kill := otherRalph(t, r)
	var states []sandbox.State
	err := r.Remove(t.Context(), id, func(record Record) error {
		var pid int
		if err := record.Decode(&pid); err != nil || record.ID != id {
			t.Errorf("ending %+v: %v", record, err)
		}
		states = append(states, record.State)
		return kill()
	})
	if err != nil || exists(r.path(id)) {
		t.Errorf("removing: %v", err)
	}
	if len(states) < 2 || states[0] != sandbox.Running || states[len(states)-1] != sandbox.Stale {
		t.Errorf("it was ended as %v; want once more when its ralph was gone", states)
	}
}

func TestRemoveOfAStaleSandbox(t *testing.T) {
	r := newRoster(t)
	for name, entry := range map[string]string{"locked once": "ralph-000000000001/lock", "without a lock": "ralph-000000000001/", "a file": "ralph-000000000001"} {
		folders(t, r, entry)
		killed := 0
		err := r.Remove(t.Context(), "ralph-000000000001", func(Record) error { killed++; return nil })
		if err != nil || killed != 1 || exists(r.path("ralph-000000000001")) {
			t.Errorf("%s: ended %d times, %v", name, killed, err)
		}
	}
}

func TestRemoveThatFails(t *testing.T) {
	r := newRoster(t)
	e := add(t, r)
	broken := errors.New("broken")
	if err := r.Remove(t.Context(), e.ID, func(Record) error { return broken }); !errors.Is(err, broken) || !exists(e.Dir) {
		t.Errorf("kill fails: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var asked atomic.Int32
	err := r.Remove(ctx, e.ID, func(Record) error {
		if asked.Add(1) == 3 { // it is asked again while its owner lives
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || !exists(e.Dir) {
		t.Errorf("its owner does not let go: %v", err)
	}
	e.Release()
	if err := r.Remove(t.Context(), e.ID, func(Record) error { return broken }); !errors.Is(err, broken) || !exists(e.Dir) {
		t.Errorf("kill fails for a stale one: %v", err)
	}
	must(t, r.Remove(t.Context(), e.ID, func(Record) error { return nil }))
}

// Only names that the roster itself gives may be joined to a path.
func TestRemoveTouchesNothingElse(t *testing.T) {
	r := newRoster(t)
	folders(t, r, "notes", "../victim/file", "ralph-xyz/file")
	for _, id := range []string{"", ".", "..", "../victim", "notes", "ralph-xyz", "/", "ralph-0123456789ab", "ralph-0123456789ab/../../victim", "ralph-0123456789ab\n"} {
		if err := r.Remove(t.Context(), id, func(r Record) error { return errors.New("ended " + r.ID) }); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, path := range []string{"notes", "../victim/file", "ralph-xyz/file"} {
		if !exists(filepath.Join(r.dir, path)) {
			t.Errorf("%s is gone", path)
		}
	}
}
