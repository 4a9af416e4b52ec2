package callfilter

import "golang.org/x/sys/unix"

const (
	arch     = unix.AUDIT_ARCH_AARCH64
	oldMknod = unix.SYS_MKNODAT // there is no older one
)

// knownCalls leave out the numbers that no kernel has yet.
func knownCalls() []span {
	return []span{
		{unix.SYS_IO_SETUP, unix.SYS_RECVMMSG},
		{unix.SYS_WAIT4, unix.SYS_KEXEC_FILE_LOAD},
		{unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_FILE_GETATTR},
	}
}

// oldCreations and oldRefusedCalls are empty: the architecture is younger than the
// calls that other ones keep for old programs.
func oldCreations() []creation  { return nil }
func oldRefusedCalls() []uint32 { return nil }
