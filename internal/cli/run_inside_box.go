package cli

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/agent-loop/ralph/internal/loop"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// insideBox is a sandbox that has files of its own. They are to outlive a command that
// is ended, so what runs is ended first, and the sandbox when it is closed.
type insideBox struct {
	sandbox.Sandbox
	leave func(sandbox.Sandbox) error // keeps the files

	mu   sync.Mutex
	over bool // for everybody but leave
	left bool
}

// haltTimeout is how long it may take to end what runs, before the sandbox is ended
// with all that is in it.
const haltTimeout = 10 * time.Second

// Exec is part of sandbox.Sandbox. When ctx ends, the sandbox is over for the caller.
func (b *insideBox) Exec(ctx context.Context, cmd sandbox.Command) (int, error) {
	if b.isOver() {
		return -1, sandbox.ErrGone
	}
	if err := ctx.Err(); err != nil {
		return -1, err
	}
	began := time.Now()
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	returned, halted := make(chan struct{}), make(chan struct{})
	inTime := context.AfterFunc(ctx, func() {
		defer close(halted)
		b.halt(returned, end)
	})
	code, err := b.Sandbox.Exec(lasting, cmd)
	close(returned)
	if inTime() {
		return code, err
	}
	<-halted
	return -1, endOf(ctx, began)
}

func (b *insideBox) isOver() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over
}

// halt ends what runs, and the sandbox if that cannot be done.
func (b *insideBox) halt(returned <-chan struct{}, end func()) {
	b.mu.Lock()
	b.over = true
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), haltTimeout)
	defer cancel()
	if code, err := b.Sandbox.Exec(ctx, loop.EndAll()); err != nil || code != 0 {
		end()
		return
	}
	select {
	case <-returned:
	case <-ctx.Done():
		end()
	}
}

// endOf is what Exec reports when ctx has ended first.
func endOf(ctx context.Context, began time.Time) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err()
	}
	deadline, _ := ctx.Deadline()
	return &sandbox.LimitError{Limit: "time", Value: deadline.Sub(began).Round(time.Millisecond).String()}
}

// Close is part of sandbox.Sandbox.
func (b *insideBox) Close() error {
	b.mu.Lock()
	first := !b.left
	b.over, b.left = true, true
	b.mu.Unlock()
	var err error
	if first {
		err = b.leave(b.Sandbox)
	}
	return errors.Join(err, b.Sandbox.Close())
}
