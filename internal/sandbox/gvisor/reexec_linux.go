package gvisor

import (
	"fmt"
	"maps"
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
		runsc(engineCommands())
	case name == RuntimeName:
		if err := becomeRuntime(); err != nil {
			fmt.Fprintln(os.Stderr, "ralph: confining the runtime:", err)
			os.Exit(1)
		}
		runsc(runtimeCommands())
	case strings.HasPrefix(name, "runsc"), os.Args[0] == "/proc/self/exe":
		runsc(runtimeCommands())
	}
	// gVisor's packages open a pipe when they are loaded, and leave it open for
	// every program that this one starts.
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}

// runsc hands over to gVisor's command line with the given commands and those
// that gVisor calls itself: what is not linked in cannot be attacked, and the
// rest of runsc would double the size of the binary.
func runsc(commands map[util.SubCommand]string) {
	maps.Copy(commands, map[util.SubCommand]string{
		new(sentrycmd.Boot):   "",
		new(cmd.Gofer):        "",
		new(sentrycmd.Umount): "",
	})
	cli.Run(nil, commands, nil)
}

// engineCommands is what a sandbox of our own engine is started with.
func engineCommands() map[util.SubCommand]string {
	return map[util.SubCommand]string{new(cmd.Run): ""}
}
