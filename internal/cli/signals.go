package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Signals returns a context that ends with the first signal that asks ralph to
// stop. The second one ends ralph at once, and everything it started with it.
// Signals that were ignored when ralph was started, as by nohup, stay so.
func Signals() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), stopping()...)
	context.AfterFunc(ctx, stop)
	// A reader that goes away, as in "ralph exec ... | head", shows as a failed
	// write; the signal would end ralph before it has cleaned up.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ignoreSuspend()
	return ctx
}

// stopping are the signals that ask ralph to stop.
func stopping() []os.Signal {
	var list []os.Signal
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			list = append(list, s)
		}
	}
	return list
}

// subscribe passes the signals that ask ralph to stop on to a channel.
func subscribe(to chan<- os.Signal) (unsubscribe func()) {
	signal.Notify(to, stopping()...)
	return func() { signal.Stop(to) }
}
