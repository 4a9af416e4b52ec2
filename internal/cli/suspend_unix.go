//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
)

// ignoreSuspend keeps Ctrl-Z from stopping ralph: the sandbox would run on, and
// nobody would hold it to its limits.
func ignoreSuspend() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTSTP)
}
