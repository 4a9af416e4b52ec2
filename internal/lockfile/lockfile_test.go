package lockfile

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
	"testing"
	"time"
)

// helperVariable makes the test binary another process: "hold PATH" takes the
// lock, says so and waits; "count PATH" adds to a number in the file.
const helperVariable = "RALPH_TEST_LOCKFILE_HELPER"

const rounds = 100 // of each process that counts

func TestMain(m *testing.M) {
	what := os.Getenv(helperVariable)
	if what == "" {
		os.Exit(m.Run())
	}
	if err := help(what); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func help(what string) error {
	verb, path, _ := strings.Cut(what, " ")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if verb == "count" {
		return count(f)
	}
	if err := Try(f); err != nil {
		return err
	}
	fmt.Println("held")
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	return err
}

// count adds one at a time to the number in a file, with the lock held for each.
func count(f *os.File) error {
	for range rounds {
		if err := Wait(context.Background(), f); err != nil {
			return err
		}
		if err := increment(f); err != nil {
			return err
		}
		if err := Unlock(f); err != nil {
			return err
		}
	}
	return nil
}

func increment(f *os.File) error {
	text := make([]byte, 20)
	n, _ := f.ReadAt(text, 0)
	number, err := strconv.Atoi("0" + string(text[:n]))
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(number+1)), 0)
	}
	return err
}

func startHelper(t *testing.T, what string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), helperVariable+"="+what)
	cmd.Stderr = os.Stderr
	return cmd
}

// hold starts a process that has the lock of a file when this returns, and lets
// it go when it is killed.
func hold(t *testing.T, path string) (kill func()) {
	t.Helper()
	cmd := startHelper(t, "hold "+path)
	in, err := cmd.StdinPipe() // never written to: the process stays
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the helper says %q, %v", line, err)
	}
	return func() {
		must(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		in.Close()
	}
}

func TestALockExcludesOtherOpenings(t *testing.T) {
	path := newFile(t)
	first, second := open(t, path), open(t, path)
	must(t, Try(first))
	if err := Try(second); !errors.Is(err, ErrHeld) {
		t.Errorf("a second lock: %v", err)
	}
	must(t, Unlock(first))
	must(t, Try(second))
	if err := Try(first); !errors.Is(err, ErrHeld) {
		t.Errorf("the first again: %v", err)
	}
	must(t, second.Close())
	must(t, Try(first)) // closing unlocked
}

func TestALockedFileCanBeReadAndWritten(t *testing.T) {
	path := newFile(t)
	must(t, Try(open(t, path)))
	must(t, os.WriteFile(path, []byte("who holds it"), 0o600))
	if text, err := os.ReadFile(path); err != nil || string(text) != "who holds it" {
		t.Errorf("read %q, %v", text, err)
	}
}

func TestAClosedFileIsNotHeldByOthers(t *testing.T) {
	f := open(t, newFile(t))
	must(t, f.Close())
	if err := Try(f); err == nil || errors.Is(err, ErrHeld) {
		t.Errorf("locking a closed file: %v", err)
	}
	if err := Wait(t.Context(), f); err == nil {
		t.Error("a closed file was locked")
	}
}

// The lock of a process that is killed is free.
func TestKilledHolder(t *testing.T) {
	path := newFile(t)
	kill := hold(t, path)
	f := open(t, path)
	if err := Try(f); !errors.Is(err, ErrHeld) {
		t.Errorf("while another process has it: %v", err)
	}
	waited := make(chan error, 1)
	go func() { waited <- Wait(t.Context(), f) }()
	kill()
	if err := <-waited; err != nil {
		t.Errorf("waiting for it: %v", err)
	}
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	path := newFile(t)
	must(t, Try(open(t, path)))
	tired := errors.New("tired of waiting")
	ctx, stop := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, tired)
	defer stop()
	f := open(t, path)
	if err := Wait(ctx, f); !errors.Is(err, tired) {
		t.Errorf("%v, want %v", err, tired)
	}
	if err := Try(f); !errors.Is(err, ErrHeld) {
		t.Errorf("afterwards: %v", err)
	}
}

// Without the lock, of all that several processes count some is lost.
func TestProcessesTakeTurns(t *testing.T) {
	path := newFile(t)
	const processes = 4
	var all []*exec.Cmd
	for range processes {
		cmd := startHelper(t, "count "+path)
		must(t, cmd.Start())
		all = append(all, cmd)
	}
	for _, cmd := range all {
		must(t, cmd.Wait())
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != strconv.Itoa(processes*rounds) {
		t.Errorf("counted %q, %v", text, err)
	}
}

func newFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(path, nil, 0o600))
	return path
}

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Those who only look share a lock with each other, and with nobody else.
func TestShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	one, two, owner := open(), open(), open()
	if err := errors.Join(TryShared(one), TryShared(two)); err != nil {
		t.Fatalf("two who look: %v", err)
	}
	if err := Try(owner); !errors.Is(err, ErrHeld) {
		t.Errorf("an owner beside those who look: %v", err)
	}
	if err := errors.Join(Unlock(one), Unlock(two), Try(owner)); err != nil {
		t.Fatal(err)
	}
	if err := TryShared(one); !errors.Is(err, ErrHeld) {
		t.Errorf("who looks while the owner has it: %v", err)
	}
}
