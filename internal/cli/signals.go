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
	var stopping []os.Signal
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			stopping = append(stopping, s)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), stopping...)
	context.AfterFunc(ctx, stop)
	// A reader that goes away, as in "ralph exec ... | head", shows as a failed
	// write; the signal would end ralph before it has cleaned up.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ignoreSuspend()
	return ctx
}
