package gvisor

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/door"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// checkArg makes the helper return at once: checkKernel only wants to know
// whether it could be started.
const checkArg = "check"

// guestInit is the first process inside a sandbox. It collects processes whose
// parents died, as every first process must, and ends only with the sandbox:
// everything else is started beside it, not by it.
func guestInit(args []string) int {
	if len(args) > 0 && args[0] == checkArg {
		return 0
	}
	hide()
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	for range children {
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if pid <= 0 || err != nil {
				break
			}
		}
	}
	return 0
}

// hide keeps this process's memory and descriptors from the agent, who is the
// same user where ralph itself runs as an ordinary one.
func hide() {
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// doorFD is the descriptor that leads out, in the process that guards it.
const doorFD = 3

// guestDoor forwards connections to the host. It runs as a user of its own, so
// that the agent can neither stop it nor take its descriptor.
func guestDoor() int {
	hide()
	listener, err := net.Listen("tcp", sandbox.GateAddress)
	if err == nil {
		err = door.Forward(context.Background(), os.NewFile(doorFD, "door"), listener)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ralph: the door closed:", err)
		return 1
	}
	return 0
}
