//go:build unix && !linux

package door

import (
	"fmt"
	"os"
	"syscall"
)

// Pair makes the two ends of a door: one for NewListener, the other to be
// passed into the sandbox, for Forward. Neither is inherited by programs that
// are started, unless they are told to.
func Pair() (host, guest *os.File, err error) {
	// Without SOCK_CLOEXEC, a fork must not come between.
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket pair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "door-host"), os.NewFile(uintptr(fds[1]), "door-guest"), nil
}
