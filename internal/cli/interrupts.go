package cli

import (
	"context"
	"errors"
	"os"
)

// errInterrupted is why a run's context ends when a person or the system says so.
var errInterrupted = errors.New("interrupted")

// interrupts lets a person end a run in two ways: the first Ctrl-C closes pause,
// and the run ends after its iteration; the second ends the context, and so
// everything. Other signals, by which systems stop programs, do that at once. A
// third of any kind ends ralph itself.
func (w World) interrupts(parent context.Context) (ctx context.Context, pause <-chan struct{}, ignore func()) {
	if w.Signals == nil {
		return parent, nil, func() {}
	}
	signals := make(chan os.Signal, 4)
	unsubscribe := w.Signals(signals)
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	if parent.Err() != nil { // by a signal that came before anybody listened here
		cancel(errInterrupted)
	}
	soft, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer unsubscribe()
		for count := 0; ; count++ {
			select {
			case <-over:
				return
			case s := <-signals:
				if s == os.Interrupt && count == 0 {
					close(soft)
					continue
				}
				cancel(errInterrupted)
				return
			}
		}
	}()
	return ctx, soft, func() { close(over); cancel(nil) }
}
