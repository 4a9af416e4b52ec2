// Command ralph runs coding agents unattended, in a loop, inside a hard sandbox,
// and brings back only commits, a bill and a record.
package main

import (
	"io"
	"log"
	"os"

	"github.com/agent-loop/ralph/internal/cli"
	"github.com/agent-loop/ralph/internal/sandbox/gvisor"
	"github.com/agent-loop/ralph/internal/sandbox/keeper"
)

func main() {
	// Engines start this binary again for their own processes.
	keeper.Reexec()
	gvisor.Reexec()
	log.SetOutput(io.Discard) // net/http quotes there what hostile servers send; events tell
	os.Exit(cli.Main(cli.Signals(), cli.OS(), os.Args[1:]))
}
