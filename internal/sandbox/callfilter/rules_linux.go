//go:build amd64 || arm64

package callfilter

import (
	"slices"

	"golang.org/x/sys/unix"
)

// forFiles guards the host's files and leaves all else as it is. Calls of other
// architectures pass: those who use it run none.
func forFiles() filter {
	return filter{
		rules:   slices.Concat(setuidRules(), reservationRules()),
		unknown: allowed,
		foreign: allowed,
	}
}

func forSandbox(o Options) filter {
	rules := slices.Concat(setuidRules(), reservationRules(), deviceRules(), snapshotRules(), hiddenRules(), terminalRules(), socketRules(o.UnixSockets), firstProcessRules())
	if o.Kernel {
		rules = append(rules, kernelRules()...)
	}
	return filter{
		rules:   rules,
		known:   knownCalls(),
		unknown: refused(unix.ENOSYS),
		foreign: refused(unix.ENOSYS),
	}
}

// creation is a call that gives a file its mode: which argument the mode is, and
// which one holds open flags, if the mode counts only with some of them.
type creation struct {
	call        uint32
	flags, mode int
}

const noFlags = -1

func creations() []creation {
	return append([]creation{
		{unix.SYS_OPENAT, 2, 3}, // first: it is the one that programs call all the time
		{unix.SYS_FCHMOD, noFlags, 1},
		{unix.SYS_FCHMODAT, noFlags, 2},
		{unix.SYS_FCHMODAT2, noFlags, 2},
		{unix.SYS_MKDIRAT, noFlags, 2},
		{unix.SYS_MKNODAT, noFlags, 2},
	}, oldCreations()...)
}

// setuidRules keep files from becoming setuid or setgid: in a workspace such a
// file would act with its owner's rights when somebody runs it on the host.
func setuidRules() []rule {
	const creating = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	var rules []rule
	for _, c := range creations() {
		r := rule{call: c.call, answer: refused(unix.EPERM)}
		if c.flags != noFlags {
			r.when = append(r.when, has(c.flags, creating))
		}
		r.when = append(r.when, has(c.mode, unix.S_ISUID|unix.S_ISGID))
		rules = append(rules, r)
	}
	return rules
}

// The ways to reserve disk through ioctl, which every file system answers like
// fallocate, and those of XFS before Linux 5.17.
const (
	ioctlReserve    = 0x40305828 // FS_IOC_RESVSP
	ioctlReserve64  = 0x4030582a // FS_IOC_RESVSP64
	ioctlZeroRange  = 0x40305839 // FS_IOC_ZERO_RANGE
	ioctlAllocate   = 0x4030580a // XFS_IOC_ALLOCSP
	ioctlAllocate64 = 0x40305824 // XFS_IOC_ALLOCSP64
)

// reservationRules refuse to reserve disk: it takes no time at all, so that no
// watch could stop it before the disk is full. Programs fall back to writing.
// Giving space back is fine.
func reservationRules() []rule {
	no := refused(unix.EOPNOTSUPP)
	return []rule{
		{unix.SYS_IOCTL, no, []condition{is(1, ioctlReserve, ioctlReserve64, ioctlZeroRange, ioctlAllocate, ioctlAllocate64)}},
		{unix.SYS_FALLOCATE, no, []condition{lacks(1, unix.FALLOC_FL_PUNCH_HOLE)}},
	}
}

// deviceRules keep device files out of the workspace. A whiteout is one, too, that
// everybody may make.
func deviceRules() []rule {
	rules := []rule{{unix.SYS_RENAMEAT2, refused(unix.EPERM), []condition{has(4, unix.RENAME_WHITEOUT)}}}
	for _, c := range creations() {
		if c.call == unix.SYS_MKNODAT || c.call == oldMknod {
			device := condition{argument: c.mode, mask: unix.S_IFMT, values: []uint32{unix.S_IFCHR, unix.S_IFBLK}}
			rules = append(rules, rule{c.call, refused(unix.EPERM), []condition{device}})
		}
	}
	return rules
}

// snapshotRules refuse snapshots and subvolumes of btrfs, which need no privilege.
// A snapshot shows all of the subvolume that a file lies in, of which the workspace
// may be a small part: the whole home directory, say. Linux takes snapshots by any
// file until 6.7.
func snapshotRules() []rule {
	const (
		snapshot, snapshot2   = 0x50009401, 0x50009417 // BTRFS_IOC_SNAP_CREATE and its _V2
		subvolume, subvolume2 = 0x5000940e, 0x50009418 // BTRFS_IOC_SUBVOL_CREATE and its _V2
	)
	return []rule{{unix.SYS_IOCTL, refused(unix.EPERM), []condition{is(1, snapshot, snapshot2, subvolume, subvolume2)}}}
}

// hiddenRules refuse calls that would do what other rules refuse, out of the
// filter's sight: behind a pointer, or in the kernel's own threads.
func hiddenRules() []rule {
	return always(unix.ENOSYS,
		unix.SYS_OPENAT2,
		unix.SYS_IO_URING_SETUP,
		unix.SYS_IO_URING_ENTER,
		unix.SYS_IO_URING_REGISTER,
	)
}

// terminalRules keep programs from typing into a terminal that they share.
func terminalRules() []rule {
	return []rule{{unix.SYS_IOCTL, refused(unix.EPERM), []condition{is(1, unix.TIOCSTI, ioctlConsole)}}}
}

const ioctlConsole = 0x541c // TIOCLINUX: pastes into a virtual console

// always refuses calls whatever their arguments.
func always(errno unix.Errno, calls ...uint32) []rule {
	var rules []rule
	for _, c := range calls {
		rules = append(rules, rule{call: c, answer: refused(errno)})
	}
	return rules
}
