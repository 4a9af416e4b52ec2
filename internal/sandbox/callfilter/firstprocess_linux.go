//go:build amd64 || arm64

package callfilter

import (
	"slices"

	"golang.org/x/sys/unix"
)

// firstProcessRules keep programs from the first process of their sandbox, which
// is ralph's own but the same user as they are. The kernel guards its memory and
// its descriptors, since it is not dumpable, and lets no plain signal end it; what
// is left of a user's power over his other processes is taken here.
func firstProcessRules() []rule {
	return slices.Concat(faultRules(), limitRules(), tuningRules())
}

// faults are signals that a Go program takes for a mistake of its own, and ends,
// unless it can see that somebody sent them.
func faults() []uint32 {
	return []uint32{
		uint32(unix.SIGILL), uint32(unix.SIGTRAP), uint32(unix.SIGBUS), uint32(unix.SIGFPE),
		uint32(unix.SIGSEGV), uint32(unix.SIGSTKFLT), uint32(unix.SIGSYS),
	}
}

// faultRules refuse to send faults in the ways that let the sender choose what the
// receiver sees of it. Plain kill, tkill and tgkill do not.
func faultRules() []rule {
	no := refused(unix.EPERM)
	return []rule{
		{unix.SYS_RT_SIGQUEUEINFO, no, []condition{is(1, faults()...)}},
		{unix.SYS_RT_TGSIGQUEUEINFO, no, []condition{is(2, faults()...)}},
		{unix.SYS_PIDFD_SEND_SIGNAL, no, []condition{is(1, faults()...)}},
		{unix.SYS_FCNTL, no, []condition{is(1, unix.F_SETSIG), is(2, faults()...)}},
	}
}

// limitRules leave a process its own limits alone. Others it could only name by a
// number, and any thread's will do, so it is no use to look for the number 1.
func limitRules() []rule {
	return []rule{{unix.SYS_PRLIMIT64, refused(unix.EPERM), []condition{isNot(0, self)}}}
}

// tuningRules let programs change the priority of the calling thread alone: a watch
// that gets no time watches nothing. The other calls succeed and do nothing, for
// many programs only tune their own threads with them.
func tuningRules() []rule {
	const ioprioUser = 3 // IOPRIO_WHO_USER
	done := refused(0)
	another := func(argument int) []condition { return []condition{isNot(argument, self)} }
	return []rule{
		{unix.SYS_SCHED_SETSCHEDULER, done, another(0)},
		{unix.SYS_SCHED_SETPARAM, done, another(0)},
		{unix.SYS_SCHED_SETATTR, done, another(0)},
		{unix.SYS_SETPRIORITY, done, another(1)},
		{unix.SYS_SETPRIORITY, done, []condition{is(0, unix.PRIO_USER)}},
		{unix.SYS_IOPRIO_SET, done, another(1)},
		{unix.SYS_IOPRIO_SET, done, []condition{is(0, ioprioUser)}},
	}
}

// self is the number by which a thread means itself, or its process.
const self = 0
