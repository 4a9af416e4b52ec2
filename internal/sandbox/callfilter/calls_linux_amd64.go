package callfilter

import "golang.org/x/sys/unix"

const (
	arch     = unix.AUDIT_ARCH_X86_64
	oldMknod = unix.SYS_MKNOD
)

// knownCalls leave out the numbers that no kernel has yet, and with them those of
// x32, which are the same calls with a high bit.
func knownCalls() []span {
	return []span{
		{unix.SYS_READ, unix.SYS_UPROBE},
		{unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_FILE_GETATTR},
	}
}

// oldCreations are the calls from before there were directory descriptors.
func oldCreations() []creation {
	return []creation{
		{unix.SYS_OPEN, 1, 2},
		{unix.SYS_CREAT, noFlags, 1},
		{unix.SYS_CHMOD, noFlags, 1},
		{unix.SYS_MKDIR, noFlags, 1},
		{unix.SYS_MKNOD, noFlags, 1},
	}
}

// oldRefusedCalls are refused like refusedCalls: ports of the machine, segments of
// 16-bit programs, and what only old programs or none ever called.
func oldRefusedCalls() []uint32 {
	return []uint32{
		unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT,
		unix.SYS_USELIB, unix.SYS_USTAT, unix.SYS_SYSFS, unix.SYS__SYSCTL,
		unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS, unix.SYS_QUERY_MODULE,
	}
}
