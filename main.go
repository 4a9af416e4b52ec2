// Command ralph runs coding agents unattended, in a loop, inside a hard sandbox,
// and brings back only commits, a bill and a record.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/agent-loop/ralph/internal/cli"
	"github.com/agent-loop/ralph/internal/sandbox/gvisor"
)

func main() {
	gvisor.Reexec() // the engine starts this binary again for its own processes
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	os.Exit(cli.Main(ctx, cli.OS(), os.Args[1:]))
}
