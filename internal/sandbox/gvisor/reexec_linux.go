package gvisor

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/runsc/cli"
	"gvisor.dev/gvisor/runsc/cmd"
	"gvisor.dev/gvisor/runsc/cmd/sentry/sentrycmd"
	"gvisor.dev/gvisor/runsc/cmd/util"
)

const (
	launcherName = "runsc-launch"
	initName     = "ralph-init"  // the guest's first process
	doorName     = "ralph-door"  // the guest's end of the door
	bytesName    = "ralph-bytes" // becomes a command whose arguments are not text
)

// Reexec must be the first call in main. When this process was started as one
// of a sandbox's own processes, it does that work and never returns; otherwise
// it does nothing. The name in argv[0] is the only signal: gVisor starts its
// children with an empty environment.
func Reexec() {
	switch name := filepath.Base(os.Args[0]); {
	case name == initName:
		os.Exit(guestInit(os.Args[1:]))
	case name == doorName:
		os.Exit(guestDoor())
	case name == bytesName:
		os.Exit(guestBytes(os.Args[1:]))
	case name == launcherName:
		if err := confineLauncher(); err != nil {
			fmt.Fprintln(os.Stderr, "ralph: confining the sandbox:", err)
			os.Exit(1)
		}
		runsc()
	case strings.HasPrefix(name, "runsc"), os.Args[0] == "/proc/self/exe":
		runsc()
	}
	// gVisor's packages open a pipe when they are loaded, and leave it open for
	// every program that this one starts.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}

// runsc hands over to gVisor's command line with only the commands that a
// sandbox needs: what is not linked in cannot be attacked, and the rest of
// runsc would double the size of the binary.
func runsc() {
	cli.Run(nil, map[util.SubCommand]string{
		new(cmd.Run):          "",
		new(sentrycmd.Boot):   "",
		new(cmd.Gofer):        "",
		new(sentrycmd.Umount): "",
	}, nil)
}
