package sandboxtest

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

func endingChecks() []check {
	return []check{
		{"a deadline ends the whole sandbox", checkDeadline},
		{"a cancelled context ends the whole sandbox", checkCancel},
		{"the time limit ends it", checkTimeLimit},
		{"Close ends it, as often as one likes", checkClose},
		{"Close ends a running command", checkCloseRunning},
		{"Remove ends a running sandbox", checkRemoveRunning},
	}
}

// wantGone shows that a sandbox takes no more commands.
func (b *box) wantGone(t *testing.T) {
	t.Helper()
	if err := b.try(t, shCommand("true")); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("a later command gives %v, want ErrGone", err)
	}
}

func wantTimeLimit(t *testing.T, err error) {
	t.Helper()
	var limit *sandbox.LimitError
	if !errors.As(err, &limit) || limit.Limit != "time" || limit.Value == "" {
		t.Errorf("error is %v, want a LimitError for time", err)
	}
}

// await gives the error of a command that something else is about to end.
func await(t *testing.T, ended <-chan error) error {
	t.Helper()
	select {
	case err := <-ended:
		return err
	case <-time.After(prompt):
		t.Fatalf("the command is still running after %v", prompt)
		return nil
	}
}

func checkDeadline(t *testing.T, s *suite) {
	b := s.newBox(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	begun := time.Now()
	_, err := b.Exec(ctx, shCommand("sleep 25"))
	wantTimeLimit(t, err)
	if took := time.Since(begun); took > prompt {
		t.Errorf("it took %v", took)
	}
	b.wantGone(t)
}

func checkCancel(t *testing.T, s *suite) {
	b := s.newBox(t)
	ctx, cancel := context.WithCancel(patiently(t))
	ended := b.start(t, ctx, "while :; do echo > beat; sleep 0.05; done & echo ready; sleep 25")
	beat := b.outside("beat")
	eventually(t, "the background job writes", func() bool { return exists(beat) })
	cancel()
	if err := await(t, ended); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", err)
	}
	eventually(t, "the background job has ended too", func() bool { return silent(beat) })
	b.wantGone(t)
}

// silent deletes a file and reports whether nobody makes it again for as long
// as ten beats.
func silent(beat string) bool {
	_ = os.Remove(beat)
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if exists(beat) {
			return false
		}
	}
	return true
}

func checkTimeLimit(t *testing.T, s *suite) {
	limit := 500*time.Millisecond + 4*s.startup // it counts from creation
	b := s.newBox(t, func(spec *sandbox.Spec) { spec.Limits.Time = limit })
	_, err := b.Exec(patiently(t), shCommand("sleep 25"))
	wantTimeLimit(t, err)
	b.wantGone(t)
}

func checkClose(t *testing.T, s *suite) {
	b := s.newBox(t)
	b.out(t, "true")
	for range 3 {
		if err := b.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	}
	b.wantGone(t)
}

func checkCloseRunning(t *testing.T, s *suite) {
	b := s.newBox(t)
	ended := b.start(t, patiently(t), "echo ready; sleep 25")
	if err := b.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	if err := await(t, ended); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("the running command gives %v, want ErrGone", err)
	}
}

func checkRemoveRunning(t *testing.T, s *suite) {
	b := s.newBox(t)
	ended := b.start(t, patiently(t), "echo ready; sleep 25")
	for range 2 {
		if err := s.engine.Remove(patiently(t), b.ID()); err != nil {
			t.Errorf("removing: %v", err)
		}
	}
	if err := await(t, ended); !errors.Is(err, sandbox.ErrGone) {
		t.Errorf("the running command gives %v, want ErrGone", err)
	}
	if at, _ := s.find(t, b.ID()); at >= 0 {
		t.Error("it is still listed")
	}
	b.wantGone(t)
}
