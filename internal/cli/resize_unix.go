//go:build unix

package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// watchSize reports the terminal's size whenever it changes, until stop is
// called.
func watchSize(ctx context.Context, f *os.File) (sizes <-chan sandbox.TerminalSize, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	out := make(chan sandbox.TerminalSize)
	go func() {
		defer close(out)
		defer signal.Stop(changed)
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			size, err := terminalSize(f)
			if err != nil {
				return
			}
			select {
			case out <- size:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, cancel
}
