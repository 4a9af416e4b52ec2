package lifetime_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/lifetime"
)

var errFirst, errSecond = errors.New("first"), errors.New("second")

// However many end a sandbox, it is stopped once, all of them wait for that, and
// the first has given the reason.
func TestEndsOnceForOneReason(t *testing.T) {
	stopped := 0
	l := lifetime.New(func() { stopped++ })
	if l.Over() || l.Ending() {
		t.Fatal("it ended before it began")
	}
	l.End(errFirst)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { l.End(errSecond) })
	}
	all.Wait()
	if stopped != 1 || !l.Over() || !l.Ending() || !errors.Is(l.Cause(), errFirst) {
		t.Errorf("stopped %d times, over %v, because of %v", stopped, l.Over(), l.Cause())
	}
	<-l.Ended()
}

// What comes too late learns that the sandbox is gone, and why.
func TestGone(t *testing.T) {
	for cause, both := range map[error]bool{sandbox.ErrGone: false, errFirst: true} {
		l := lifetime.New(func() {})
		l.End(cause)
		err := l.Admit(t.Context(), sandbox.Command{Args: []string{"true"}})
		if !errors.Is(err, sandbox.ErrGone) || both && !errors.Is(err, errFirst) {
			t.Errorf("after %v: %v", cause, err)
		}
	}
}

func TestAdmit(t *testing.T) {
	l := lifetime.New(func() {})
	if err := l.Admit(t.Context(), sandbox.Command{}); err == nil {
		t.Error("no command was admitted")
	}
	if err := l.Admit(t.Context(), sandbox.Command{Args: []string{"true"}}); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Admit(ctx, sandbox.Command{Args: []string{"true"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lifetime.New(func() {})
		began := time.Now()
		l.EndAfter(0) // no limit
		l.EndAfter(time.Hour)
		<-l.Ended()
		var limit *sandbox.LimitError
		if !errors.As(l.Cause(), &limit) || limit.Limit != "time" || time.Since(began) != time.Hour {
			t.Errorf("ended by %v after %v", l.Cause(), time.Since(began))
		}
	})
}

// A gate that fails ends its sandbox; one that stops because the sandbox ends is
// not the reason for that.
func TestServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lifetime.New(func() {})
		l.Serve(func(net.Listener) error { return net.ErrClosed }, nil)
		if l.Over() {
			t.Error("a gate that was closed ended the sandbox")
		}
		l.Serve(func(net.Listener) error { return errFirst }, nil)
		if !l.Over() || !errors.Is(l.Cause(), errFirst) {
			t.Errorf("ended: %v", l.Over())
		}
		late := lifetime.New(func() {})
		time.AfterFunc(time.Millisecond, func() { late.End(errSecond) })
		late.Serve(func(net.Listener) error { return errFirst }, nil)
		if !errors.Is(late.Cause(), errSecond) {
			t.Errorf("the gate was blamed: %v", late.Cause())
		}
	})
}

// A limit that is passed ends the sandbox, and so does one that cannot be measured.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var used int64
		l := lifetime.New(func() {})
		go l.Hold(time.Second, "memory", 10, func() (int64, error) { used += 3; return used, nil })
		<-l.Ended()
		var limit *sandbox.LimitError
		if !errors.As(l.Cause(), &limit) || limit.Limit != "memory" || used != 12 {
			t.Errorf("ended by %v at %d", l.Cause(), used)
		}
		blind := lifetime.New(func() {})
		go blind.Hold(time.Second, "disk", 10, func() (int64, error) { return 0, errFirst })
		<-blind.Ended()
		if !errors.Is(blind.Cause(), errFirst) {
			t.Errorf("ended by %v", blind.Cause())
		}
	})
}

func TestCauseOf(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := lifetime.CauseOf(cancelled, time.Now()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	var limit *sandbox.LimitError
	if err := lifetime.CauseOf(late, time.Now().Add(-time.Minute)); !errors.As(err, &limit) || limit.Limit != "time" {
		t.Errorf("got %v", err)
	}
}
