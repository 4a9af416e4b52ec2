//go:build amd64 || arm64

package callfilter_test

import (
	"encoding/json"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/sandbox/callfilter"
)

// filters are the three filters, each stricter than the one before.
var filters = []job{
	forFiles:   {Filter: "files"},
	forSandbox: {Filter: "sandbox"},
	forKernel:  {Filter: "sandbox", Options: callfilter.Options{Kernel: true}},
}

const (
	forFiles = iota
	forSandbox
	forKernel
	never
)

// call is a call to try, the first filter that refuses it, and with what error.
// One that is never refused has to end with that error all the same, where 0 is
// success.
type call struct {
	try     func() error
	refuses int
	errno   syscall.Errno
}

// badPointer leads nowhere: a call that gets as far as to follow it does nothing
// but fail.
const badPointer = ^uintptr(0)

// nobody is a number that no process has.
const nobody = 1 << 30

var calls = map[string]call{
	"chmod 755":             {chmod(0o755), never, 0},
	"chmod sticky":          {chmod(0o1755), never, 0},
	"chmod setuid":          {chmod(0o4755), forFiles, unix.EPERM},
	"chmod setgid":          {chmod(0o2755), forFiles, unix.EPERM},
	"fchmod setuid":         {fchmod(0o4755), forFiles, unix.EPERM},
	"fchmodat2 setuid":      {fchmodat2(0o4755), forFiles, unix.EPERM},
	"mkdir":                 {mkdir(0o755), never, 0},
	"mkdir setgid":          {mkdir(0o2755), forFiles, unix.EPERM},
	"mknod fifo":            {mknod(unix.S_IFIFO | 0o600), never, 0},
	"mknod setuid file":     {mknod(unix.S_IFREG | 0o4755), forFiles, unix.EPERM},
	"mknod device":          {mknod(unix.S_IFCHR | 0o600), forSandbox, unix.EPERM},
	"open, create":          {open(unix.O_CREAT|unix.O_WRONLY, 0o644), never, 0},
	"open, create setuid":   {open(unix.O_CREAT|unix.O_WRONLY, 0o4755), forFiles, unix.EPERM},
	"open, create setgid":   {open(unix.O_CREAT|unix.O_WRONLY, 0o2755), forFiles, unix.EPERM},
	"open, nameless setuid": {openNameless(0o4755), forFiles, unix.EPERM},
	"open, no mode needed":  {openAgain(0o4755), never, 0},
	"openat2":               {openat2, forSandbox, unix.ENOSYS},
	"io_uring":              {raw(unix.SYS_IO_URING_SETUP, 0, badPointer), forSandbox, unix.ENOSYS},

	"rename":               {rename(unix.RENAME_NOREPLACE), never, 0},
	"rename, leave device": {rename(unix.RENAME_WHITEOUT), forSandbox, unix.EPERM},
	"snapshot":             {raw(unix.SYS_IOCTL, 0, 0x50009401, badPointer), forSandbox, unix.EPERM},
	"snapshot, version 2":  {raw(unix.SYS_IOCTL, 0, 0x50009417, badPointer), forSandbox, unix.EPERM},

	"reserve disk":             {fallocate(0), forFiles, unix.EOPNOTSUPP},
	"reserve disk, keep size":  {fallocate(unix.FALLOC_FL_KEEP_SIZE), forFiles, unix.EOPNOTSUPP},
	"zero a range":             {fallocate(unix.FALLOC_FL_ZERO_RANGE), forFiles, unix.EOPNOTSUPP},
	"give disk back":           {fallocate(unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE), never, 0},
	"reserve disk by ioctl":    {reserve(0x40305828), forFiles, unix.EOPNOTSUPP},
	"reserve disk by ioctl 64": {reserve(0x4030582a), forFiles, unix.EOPNOTSUPP},
	"zero a range by ioctl":    {reserve(0x40305839), forFiles, unix.EOPNOTSUPP},

	"TIOCSTI":            {raw(unix.SYS_IOCTL, 0, unix.TIOCSTI, badPointer), forSandbox, unix.EPERM},
	"TIOCSTI, high bits": {raw(unix.SYS_IOCTL, 0, 1<<32|unix.TIOCSTI, badPointer), forSandbox, unix.EPERM},
	"TIOCLINUX":          {raw(unix.SYS_IOCTL, 0, 0x541c, badPointer), forSandbox, unix.EPERM},
	"TIOCSETD":           {raw(unix.SYS_IOCTL, 0, unix.TIOCSETD, badPointer), forKernel, unix.EPERM},

	"socket TCP":            {socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0), never, 0},
	"socket TCP, by name":   {socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP), never, 0},
	"socket UDP":            {socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK, 0), never, 0},
	"socket netlink":        {socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE), never, 0},
	"socket netlink, other": {socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC), forSandbox, unix.EPROTONOSUPPORT},
	"socket raw IP":         {socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP), forSandbox, unix.EPERM},
	"socket raw IPv6":       {socket(unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_TCP), forSandbox, unix.EPERM},
	"socket packet, as IP":  {socket(unix.AF_INET, unix.SOCK_PACKET, 0), forSandbox, unix.EPERM},
	"socket packet":         {socket(unix.AF_PACKET, unix.SOCK_DGRAM, 0), forSandbox, unix.EAFNOSUPPORT},
	"socket unix":           {socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0), forSandbox, unix.EACCES},
	"socket unix, datagram": {socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0), forSandbox, unix.EACCES},
	"pair of streams":       {pair(unix.SOCK_STREAM | unix.SOCK_CLOEXEC), never, 0},
	"pair of packets":       {pair(unix.SOCK_SEQPACKET), never, 0},
	"pair of datagrams":     {pair(unix.SOCK_DGRAM), forSandbox, unix.EACCES},
	"pair of raw":           {pair(unix.SOCK_RAW), forSandbox, unix.EACCES},

	"queue a signal":           {raw(unix.SYS_RT_SIGQUEUEINFO, nobody, uintptr(unix.SIGUSR1), badPointer), never, unix.EFAULT},
	"queue a fault":            {raw(unix.SYS_RT_SIGQUEUEINFO, nobody, uintptr(unix.SIGSEGV), badPointer), forSandbox, unix.EPERM},
	"queue a fault, to thread": {raw(unix.SYS_RT_TGSIGQUEUEINFO, nobody, nobody, uintptr(unix.SIGBUS), badPointer), forSandbox, unix.EPERM},
	"signal by handle":         {raw(unix.SYS_PIDFD_SEND_SIGNAL, badPointer, uintptr(unix.SIGTERM), 0, 0), never, unix.EBADF},
	"fault by handle":          {raw(unix.SYS_PIDFD_SEND_SIGNAL, badPointer, uintptr(unix.SIGFPE), 0, 0), forSandbox, unix.EPERM},
	"signal by descriptor":     {withFile(signalOf(unix.SIGUSR1)), never, 0},
	"fault by descriptor":      {withFile(signalOf(unix.SIGSYS)), forSandbox, unix.EPERM},
	"limits":                   {raw(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, 0, 0), never, 0},
	"limits of another":        {raw(unix.SYS_PRLIMIT64, nobody, unix.RLIMIT_NOFILE, 0, 0), forSandbox, unix.EPERM},
	"scheduler":                {raw(unix.SYS_SCHED_SETSCHEDULER, 0, 0, badPointer), never, unix.EFAULT},
	"scheduler of another":     {raw(unix.SYS_SCHED_SETSCHEDULER, nobody, 0, badPointer), forSandbox, 0},
	"scheduler 2 of another":   {raw(unix.SYS_SCHED_SETATTR, nobody, badPointer, 0), forSandbox, 0},
	"priority":                 {raw(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, 0), never, 0},
	"priority of another":      {raw(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, nobody, 0), forSandbox, 0},
	"disk priority of another": {raw(unix.SYS_IOPRIO_SET, 1, nobody, 0), forSandbox, 0},

	"new user namespace":     {start(unix.CLONE_NEWUSER), forKernel, unix.EPERM},
	"new process":            {start(0), never, 0},
	"clone3":                 {raw(unix.SYS_CLONE3, badPointer, 64), forKernel, unix.ENOSYS},
	"unshare mounts":         {raw(unix.SYS_UNSHARE, unix.CLONE_NEWNS), forKernel, unix.EPERM},
	"unshare time":           {raw(unix.SYS_UNSHARE, unix.CLONE_NEWTIME), forKernel, unix.EPERM},
	"unshare signals":        {raw(unix.SYS_UNSHARE, unix.CLONE_SYSVSEM), never, 0},
	"setns":                  {raw(unix.SYS_SETNS, badPointer, 0), forKernel, unix.EPERM},
	"mount":                  {raw(unix.SYS_MOUNT, badPointer, badPointer, badPointer, 0, 0), forKernel, unix.EPERM},
	"fsopen":                 {raw(unix.SYS_FSOPEN, badPointer, 0), forKernel, unix.EPERM},
	"chroot":                 {raw(unix.SYS_CHROOT, badPointer), forKernel, unix.EPERM},
	"secret memory":          {raw(unix.SYS_MEMFD_SECRET, 1<<20), forKernel, unix.EPERM},
	"keyctl":                 {raw(unix.SYS_KEYCTL, 9999), forKernel, unix.EPERM},
	"bpf":                    {raw(unix.SYS_BPF, 0, badPointer, 8), forKernel, unix.EPERM},
	"open by handle":         {raw(unix.SYS_OPEN_BY_HANDLE_AT, 0, badPointer, 0), forKernel, unix.EPERM},
	"personality, asked":     {raw(unix.SYS_PERSONALITY, 0xffffffff), never, 0},
	"personality, no random": {raw(unix.SYS_PERSONALITY, 0x40000), forKernel, unix.EPERM},
	"processors":             {raw(unix.SYS_SCHED_SETAFFINITY, 0, 8, badPointer), forKernel, 0},
	"processors, asked":      {raw(unix.SYS_SCHED_GETAFFINITY, 0, 0, badPointer), never, unix.EINVAL},
	"trace nobody":           {raw(unix.SYS_PTRACE, unix.PTRACE_ATTACH, badPointer), never, unix.ESRCH},
	"not known":              {raw(unix.SYS_FILE_SETATTR, badPointer, badPointer, badPointer, 0, 0), forSandbox, unix.ENOSYS},
}

func TestCalls(t *testing.T) {
	unfiltered := answers(t, job{Filter: "none"})
	for filter, j := range filters {
		got := answers(t, j)
		for name, c := range calls {
			switch {
			case filter < c.refuses && got[name] != unfiltered[name]:
				t.Errorf("filter %d, %s: %v, and %v without it", filter, name, got[name], unfiltered[name])
			case filter >= c.refuses && got[name] != c.errno:
				t.Errorf("filter %d, %s: %v, want %v", filter, name, got[name], c.errno)
			}
		}
	}
}

// TestCallsWithoutFilter: an error that comes anyway says nothing about a filter.
func TestCallsWithoutFilter(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root is needed: to others the kernel itself refuses some of the calls")
	}
	got := answers(t, job{Filter: "none"})
	for name, c := range calls {
		if (got[name] == c.errno) != (c.refuses == never) {
			t.Errorf("%s: %v without a filter, want another test", name, got[name])
		}
	}
}

func TestUnixSocketsOnRequest(t *testing.T) {
	got := answers(t, job{Filter: "sandbox", Options: callfilter.Options{UnixSockets: true, Kernel: true}})
	for _, name := range []string{"socket unix", "socket unix, datagram", "pair of streams", "pair of datagrams"} {
		if got[name] != 0 {
			t.Errorf("%s: %v, want success", name, got[name])
		}
	}
	if got["socket packet"] != unix.EAFNOSUPPORT {
		t.Errorf("socket packet: %v, want that only unix sockets are opened", got["socket packet"])
	}
}

// answers tells what the kernel said to each call.
func answers(t *testing.T, j job) map[string]syscall.Errno {
	t.Helper()
	out, err := j.run(t)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]syscall.Errno
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	return got
}
