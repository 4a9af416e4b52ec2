package probe

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// inheritedDescriptors finds what came through the start of this program. The
// standard streams may be open, but not to a folder, from which a path leads on.
func inheritedDescriptors(Facts) Result {
	open, err := openThroughStart()
	if err != nil {
		return failed("%v", err)
	}
	ends := map[uint64]int{} // pipes, by inode
	for _, d := range open {
		if d.kind() == unix.S_IFIFO && d.fd > 2 {
			ends[d.stat.Ino]++
		}
	}
	for _, d := range open {
		switch {
		case d.fd <= 2 && d.kind() != unix.S_IFDIR:
		case d.kind() == unix.S_IFIFO && ends[d.stat.Ino] == 2:
			// Both ends are here: libraries of this program make such a pipe
			// for themselves when it starts.
		default:
			target, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", d.fd)) // only to describe it
			return breach("descriptor %d is open: %s, mode %o", d.fd, target, d.stat.Mode)
		}
	}
	return blocked("no descriptor but the standard streams came in from outside")
}

type descriptor struct {
	fd   int
	stat unix.Stat_t
}

func (d descriptor) kind() uint32 { return d.stat.Mode & unix.S_IFMT }

// openThroughStart lists descriptors that may have come from whoever started
// this program. One that closes at the start of a program cannot have: our own
// runtime opened it.
func openThroughStart() ([]descriptor, error) {
	var list []descriptor
	for fd := range 4096 {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue
		}
		d := descriptor{fd: fd}
		if err := unix.Fstat(fd, &d.stat); err != nil {
			return nil, fmt.Errorf("looking at descriptor %d: %w", fd, err)
		}
		list = append(list, d)
	}
	return list, nil
}

// hostTerminal is run without a terminal, so any that it finds is not its own.
func hostTerminal(Facts) []way {
	var list []way
	for fd := range 3 {
		list = append(list, way{fmt.Sprintf("use descriptor %d as a terminal", fd), func() error {
			_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
			return err
		}})
	}
	return append(list, eachPath("open", canRead, "/dev/tty", "/dev/console", "/dev/tty0", "/dev/tty1", "/dev/pts/0", "/dev/pts/1")...)
}
