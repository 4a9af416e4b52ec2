// Package lifetime is how a sandbox ends: once, for one reason, whoever gives it
// first, and with all that accompanied it. Engines embed a Lifetime in their
// sandboxes and tell it how everything inside is ended.
package lifetime

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// settle is how long the end of a sandbox is awaited that must have begun:
// something that was part of it has failed.
const settle = time.Second

// Lifetime is that of one sandbox. Its methods may be called from several
// goroutines.
type Lifetime struct {
	stop   func()
	once   sync.Once
	ending atomic.Bool
	ended  chan struct{} // closed when the sandbox is over
	cause  error         // why; set before ended is closed
}

// New begins a lifetime. stop ends everything inside and returns when it has
// ended; it is called once.
func New(stop func()) *Lifetime {
	return &Lifetime{stop: stop, ended: make(chan struct{})}
}

// End ends the sandbox and returns when it is over. The first cause is the one
// that is reported.
func (l *Lifetime) End(cause error) {
	l.once.Do(func() {
		l.cause = cause
		l.ending.Store(true)
		l.stop()
		close(l.ended)
	})
	<-l.ended
}

// EndUnlessOver ends a sandbox for a reason that its own end may have brought
// about, and which then does not count.
func (l *Lifetime) EndUnlessOver(cause error) {
	select {
	case <-l.ended:
	case <-time.After(settle):
		l.End(cause)
	}
}

// EndAfter ends the sandbox when its time is up.
func (l *Lifetime) EndAfter(limit time.Duration) {
	if limit <= 0 {
		return
	}
	timer := time.AfterFunc(limit, func() { l.End(&sandbox.LimitError{Limit: "time", Value: limit.String()}) })
	go func() {
		<-l.ended
		timer.Stop()
	}()
}

// Ended is closed when the sandbox is over.
func (l *Lifetime) Ended() <-chan struct{} { return l.ended }

// Over tells whether the sandbox has ended.
func (l *Lifetime) Over() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// Ending tells whether the end has begun.
func (l *Lifetime) Ending() bool { return l.ending.Load() }

// Cause is why the sandbox ended. It must be over.
func (l *Lifetime) Cause() error { return l.cause }

// Gone is what commands get that come too late for the cause itself.
func (l *Lifetime) Gone() error {
	if errors.Is(l.cause, sandbox.ErrGone) {
		return l.cause
	}
	return fmt.Errorf("%w: %w", sandbox.ErrGone, l.cause)
}

// Admit refuses a command that comes too late, or is none.
func (l *Lifetime) Admit(ctx context.Context, cmd sandbox.Command) error {
	if l.Over() {
		return l.Gone()
	}
	if len(cmd.Args) == 0 {
		return errors.New("no command given")
	}
	return ctx.Err()
}

// Lost explains why the inside stopped answering: if it has died, its end is
// about to be known, and is the better answer.
func (l *Lifetime) Lost(err error) error {
	select {
	case <-l.ended:
		return l.cause
	case <-time.After(settle):
		return err
	}
}

// Serve runs the gate behind a door. A sandbox whose gate has failed is of no use
// and is ended; one that is ending anyway shuts its door first.
func (l *Lifetime) Serve(gate func(net.Listener) error, door net.Listener) {
	if err := gate(door); err != nil && !errors.Is(err, net.ErrClosed) {
		l.EndUnlessOver(fmt.Errorf("the gate failed: %w", err))
	}
}

// Hold measures until the sandbox is over, and ends it when it uses more than
// allowed or when that cannot be measured any more.
func (l *Lifetime) Hold(interval time.Duration, limit string, allowed int64, used func() (int64, error)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-l.ended:
			return
		case <-tick.C:
		}
		n, err := used()
		switch {
		case err != nil:
			l.EndUnlessOver(fmt.Errorf("keeping the %s limit: %w", limit, err))
		case n > allowed:
			l.End(&sandbox.LimitError{Limit: limit, Value: fmt.Sprintf("%d MiB", allowed>>20)})
		}
	}
}

// CauseOf is the reason for ending a sandbox whose caller's context ended, of a
// command that began at a time.
func CauseOf(ctx context.Context, began time.Time) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err()
	}
	deadline, _ := ctx.Deadline()
	return &sandbox.LimitError{Limit: "time", Value: deadline.Sub(began).Round(time.Millisecond).String()}
}
