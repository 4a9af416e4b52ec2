//go:build linux

// Command stepping is ralph as the tests of what a kill leaves behind run it: it
// writes down the steps of a run, and kills itself at the one it is told to.
package main

import (
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"syscall"

	"github.com/agent-loop/ralph/internal/cli"
	"github.com/agent-loop/ralph/internal/sandbox/gvisor"
)

func main() {
	gvisor.Reexec()
	log.SetOutput(io.Discard)
	world := cli.OS()
	world.Step = (&stepper{log: os.Getenv("STEPPING_LOG"), last: os.Getenv("STEPPING_KILL_AT")}).step
	os.Exit(cli.Main(cli.Signals(), world, os.Args[1:]))
}

// stepper counts the steps of a run, from 1.
type stepper struct {
	log, last string
	count     int
}

func (s *stepper) step(name string) {
	s.count++
	if s.log != "" {
		file, err := os.OpenFile(s.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(file, name)
		file.Close()
	}
	if strconv.Itoa(s.count) == s.last {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
}
