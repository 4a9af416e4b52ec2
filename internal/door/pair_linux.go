package door

import (
	"fmt"
	"os"
	"syscall"
)

// socketBuffer is how much may be under way in each direction. With the
// kernel's default the two sides wait for each other many times per frame.
const socketBuffer = 4 << 20

// Pair makes the two ends of a door: one for NewListener, the other to be
// passed into the sandbox, for Forward. Neither is inherited by programs that
// are started, unless they are told to.
func Pair() (host, guest *os.File, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket pair: %w", err)
	}
	for _, fd := range fds {
		enlarge(fd)
	}
	return os.NewFile(uintptr(fds[0]), "door-host"), os.NewFile(uintptr(fds[1]), "door-guest"), nil
}

// enlarge raises the socket's buffer as far as this user may. It only makes the
// door faster, so a refusal is no error.
func enlarge(fd int) {
	if syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_SNDBUFFORCE, socketBuffer) != nil {
		_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_SNDBUF, socketBuffer)
	}
}
