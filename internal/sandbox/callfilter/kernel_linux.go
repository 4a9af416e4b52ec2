//go:build amd64 || arm64

package callfilter

import (
	"slices"

	"golang.org/x/sys/unix"
)

// namespaces are the flags of clone and unshare that make new ones. A process is
// mighty in a user namespace of its own, and much of the kernel that it then
// reaches was never written for strangers. CLONE_NEWTIME is not among them, because
// clone takes that bit for part of a signal number; only unshare knows it.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP

// kernelRules close the parts of the host's kernel that a sandboxed program has no
// use for.
func kernelRules() []rule {
	no := refused(unix.EPERM)
	return slices.Concat(
		[]rule{
			{unix.SYS_CLONE, no, []condition{has(0, namespaces)}},
			{unix.SYS_UNSHARE, no, []condition{has(0, namespaces|unix.CLONE_NEWTIME)}},
			{unix.SYS_PERSONALITY, no, []condition{isNot(0, personalities()...)}},
			{unix.SYS_IOCTL, no, []condition{is(1, ioctlLineDiscipline)}},
		},
		// The C library falls back to clone, whose flags can be read.
		always(unix.ENOSYS, unix.SYS_CLONE3),
		// See Options.Kernel.
		always(0, unix.SYS_SCHED_SETAFFINITY),
		always(unix.EPERM, refusedCalls()...),
		always(unix.EPERM, oldRefusedCalls()...),
	)
}

// ioctlLineDiscipline, TIOCSETD, puts drivers of modems between a program and its
// own terminal, and loads them.
const ioctlLineDiscipline = 0x5423

// personalities are those that change nothing but names: Linux, its 32-bit
// variant, both with an old version number, and the question which one is set. The
// others turn protections off.
func personalities() []uint32 {
	const linux, linux32, uname26, ask = 0, 0x8, 0x20000, 0xffffffff
	return []uint32{linux, linux32, uname26, uname26 | linux32, ask}
}

// refusedCalls are those of both architectures that Docker's default profile
// refuses to a container without capabilities, and a few that it leaves open:
// file handles, which name files that no path leads to, the clock's tuning, and
// secret memory.
func refusedCalls() []uint32 {
	return []uint32{
		// Namespaces, and the tree of mounts.
		unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT, unix.SYS_MOUNT, unix.SYS_UMOUNT2,
		unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_MOUNT_SETATTR,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
		// The machine.
		unix.SYS_REBOOT, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
		unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_SYSLOG,
		unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_VHANGUP, unix.SYS_NFSSERVCTL,
		unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_LOOKUP_DCOOKIE,
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME,
		// The user's keyrings, which no namespace divides.
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		// Large parts of the kernel with a history of holes; userfaultfd also stops
		// the kernel where an attacker wants it.
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_FANOTIFY_INIT,
		unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT,
		unix.SYS_LSM_GET_SELF_ATTR, unix.SYS_LSM_SET_SELF_ATTR, unix.SYS_LSM_LIST_MODULES,
		// Other processes, beyond what debuggers need.
		unix.SYS_KCMP, unix.SYS_PIDFD_GETFD, unix.SYS_PROCESS_MADVISE,
		// Where memory lies.
		unix.SYS_GET_MEMPOLICY, unix.SYS_SET_MEMPOLICY, unix.SYS_SET_MEMPOLICY_HOME_NODE,
		unix.SYS_MBIND, unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES,
		// Memory that nobody who watches could see: what its files hold counts for no
		// process that has not mapped it.
		unix.SYS_MEMFD_SECRET,
	}
}
