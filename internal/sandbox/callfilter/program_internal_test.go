//go:build linux && (amd64 || arm64)

package callfilter

import (
	"encoding/binary"
	"slices"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// judge runs a filter on one call, as the kernel would.
func judge(t testing.TB, vm *bpf.VM, arch, call uint32, arguments ...uint64) answer {
	t.Helper()
	// The machine of package bpf reads as networks write. The kernel reads words as
	// they lie in memory, where the low half of an argument comes first.
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[offsetCall:], call)
	binary.BigEndian.PutUint32(data[offsetArch:], arch)
	for i, a := range arguments {
		binary.BigEndian.PutUint32(data[offsetArguments+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[offsetArguments+8*i+4:], uint32(a>>32))
	}
	verdict, err := vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return answer(verdict)
}

func machine(t testing.TB, f filter) *bpf.VM {
	t.Helper()
	vm, err := bpf.NewVM(f.program())
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

const (
	archI386 = unix.AUDIT_ARCH_I386
	archARM  = unix.AUDIT_ARCH_ARM
	x32Bit   = 0x40000000
)

func TestOtherNumberings(t *testing.T) {
	everything := Options{UnixSockets: true}
	tests := map[string]struct {
		filter     filter
		arch, call uint32
		want       answer
	}{
		"our own":                 {forSandbox(everything), arch, unix.SYS_GETPID, allowed},
		"i386":                    {forSandbox(everything), archI386, unix.SYS_GETPID, refused(unix.ENOSYS)},
		"32-bit ARM":              {forSandbox(everything), archARM, unix.SYS_GETPID, refused(unix.ENOSYS)},
		"no architecture":         {forSandbox(everything), 0, unix.SYS_GETPID, refused(unix.ENOSYS)},
		"x32":                     {forSandbox(everything), arch, x32Bit | unix.SYS_GETPID, refused(unix.ENOSYS)},
		"the newest":              {forSandbox(everything), arch, unix.SYS_FILE_GETATTR, allowed},
		"one after the newest":    {forSandbox(everything), arch, unix.SYS_FILE_GETATTR + 1, refused(unix.ENOSYS)},
		"in the gap":              {forSandbox(everything), arch, unix.SYS_PIDFD_SEND_SIGNAL - 1, refused(unix.ENOSYS)},
		"the highest number":      {forSandbox(everything), arch, ^uint32(0), refused(unix.ENOSYS)},
		"files only: i386":        {forFiles(), archI386, unix.SYS_GETPID, allowed},
		"files only: not known":   {forFiles(), arch, unix.SYS_FILE_GETATTR + 1, allowed},
		"files only: openat2":     {forFiles(), arch, unix.SYS_OPENAT2, allowed},
		"files only: unix socket": {forFiles(), arch, unix.SYS_SOCKET, allowed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := judge(t, machine(t, test.filter), test.arch, test.call, unix.AF_UNIX); got != test.want {
				t.Errorf("answer %#x, want %#x", got, test.want)
			}
		})
	}
}

// TestHighHalves: the kernel takes 32 bits of these arguments and drops the rest;
// a filter that looked at the rest would be talked round.
func TestHighHalves(t *testing.T) {
	const junk = 0xdeadbeef << 32
	vm := machine(t, forSandbox(Options{Kernel: true}))
	tests := map[string]struct {
		call      uint32
		arguments []uint64
		want      unix.Errno
	}{
		"chmod":       {unix.SYS_FCHMODAT, []uint64{0, 0, junk | 0o4755}, unix.EPERM},
		"open":        {unix.SYS_OPENAT, []uint64{0, 0, junk | unix.O_CREAT, junk | 0o2755}, unix.EPERM},
		"device":      {unix.SYS_MKNODAT, []uint64{0, 0, junk | unix.S_IFBLK}, unix.EPERM},
		"fallocate":   {unix.SYS_FALLOCATE, []uint64{0, junk}, unix.EOPNOTSUPP},
		"unix socket": {unix.SYS_SOCKET, []uint64{junk | unix.AF_UNIX, unix.SOCK_STREAM}, unix.EACCES},
		"raw socket":  {unix.SYS_SOCKET, []uint64{unix.AF_INET, junk | unix.SOCK_CLOEXEC | unix.SOCK_RAW}, unix.EPERM},
		"TIOCSTI":     {unix.SYS_IOCTL, []uint64{0, junk | unix.TIOCSTI}, unix.EPERM},
		"namespace":   {unix.SYS_CLONE, []uint64{junk | unix.CLONE_NEWUSER}, unix.EPERM},
		"personality": {unix.SYS_PERSONALITY, []uint64{junk | 0x40000}, unix.EPERM},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := judge(t, vm, arch, test.call, test.arguments...); got != refused(test.want) {
				t.Errorf("answer %#x, want error %v", got, test.want)
			}
		})
	}
}

// TestFirstProcess covers what would change processes of the host if it were tried:
// those who mean a whole user mean the first process, too.
func TestFirstProcess(t *testing.T) {
	vm := machine(t, forSandbox(Options{}))
	tests := map[string]struct {
		call      uint32
		arguments []uint64
		want      answer
	}{
		"own priority":          {unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PROCESS, 0}, allowed},
		"own group's":           {unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PGRP, 0}, allowed},
		"all of the user's":     {unix.SYS_SETPRIORITY, []uint64{unix.PRIO_USER, 0}, refused(0)},
		"the first one's":       {unix.SYS_SETPRIORITY, []uint64{unix.PRIO_PROCESS, 1}, refused(0)},
		"own, for disk":         {unix.SYS_IOPRIO_SET, []uint64{1, 0}, allowed},
		"all, for disk":         {unix.SYS_IOPRIO_SET, []uint64{3, 0}, refused(0)},
		"the first one's limit": {unix.SYS_PRLIMIT64, []uint64{1, unix.RLIMIT_AS}, refused(unix.EPERM)},
		"by a thread's number":  {unix.SYS_PRLIMIT64, []uint64{7, unix.RLIMIT_AS}, refused(unix.EPERM)},
		"other descriptor work": {unix.SYS_FCNTL, []uint64{0, unix.F_SETFL, uint64(unix.SIGSEGV)}, allowed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := judge(t, vm, arch, test.call, test.arguments...); got != test.want {
				t.Errorf("answer %#x, want %#x", got, test.want)
			}
		})
	}
}

// TestKernelCloses covers the calls that must not even be tried for real here.
func TestKernelCloses(t *testing.T) {
	open, closed := machine(t, forSandbox(Options{})), machine(t, forSandbox(Options{Kernel: true}))
	for _, call := range slices.Concat(refusedCalls(), oldRefusedCalls()) {
		if got := judge(t, closed, arch, call); got != refused(unix.EPERM) {
			t.Errorf("call %d: answer %#x, want EPERM", call, got)
		}
		if got := judge(t, open, arch, call); got != allowed {
			t.Errorf("call %d without Kernel: answer %#x, want that it is left to the filter below", call, got)
		}
	}
}

// TestNothingElseIsClosed counts what is refused by number alone, so that a slip
// in a table (a call too many, or a rule that swallows its neighbours) is seen.
func TestNothingElseIsClosed(t *testing.T) {
	vm := machine(t, forSandbox(Options{UnixSockets: true, Kernel: true}))
	closed := slices.Concat(refusedCalls(), oldRefusedCalls(), []uint32{
		unix.SYS_OPENAT2, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_CLONE3, unix.SYS_SCHED_SETAFFINITY,
		// These are judged by arguments that are all zero here.
		unix.SYS_FALLOCATE, unix.SYS_SOCKET, unix.SYS_SOCKETPAIR,
	})
	for _, s := range knownCalls() {
		for call := s.first; call <= s.last; call++ {
			if got := judge(t, vm, arch, call); (got == allowed) == slices.Contains(closed, call) {
				t.Errorf("call %d: answer %#x", call, got)
			}
		}
	}
}

func TestProgramsFitTheKernel(t *testing.T) {
	for name, f := range map[string]filter{
		"files":      forFiles(),
		"containers": forSandbox(Options{}),
		"everything": forSandbox(Options{Kernel: true}),
	} {
		code, err := encode(f.program())
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%s: %d instructions", name, len(code))
	}
}

// FuzzFilter holds the program against the rules that it was made from: whatever
// the call, the first rule whose conditions all hold must answer it.
func FuzzFilter(f *testing.F) {
	f.Add(uint32(unix.SYS_OPENAT), uint64(0), uint64(unix.O_CREAT), uint64(0o4755), uint64(0o4755))
	f.Add(uint32(unix.SYS_SOCKET), uint64(unix.AF_UNIX), uint64(unix.SOCK_STREAM), uint64(0), uint64(0))
	f.Add(uint32(unix.SYS_SOCKET), uint64(unix.AF_INET), uint64(unix.SOCK_DGRAM), uint64(unix.IPPROTO_SCTP), uint64(0))
	f.Add(uint32(unix.SYS_IOCTL), uint64(0), uint64(unix.TIOCSTI), uint64(0), uint64(0))
	f.Add(uint32(unix.SYS_CLONE), uint64(unix.CLONE_NEWNS), uint64(0), uint64(0), uint64(0))
	f.Add(uint32(unix.SYS_FCNTL), uint64(0), uint64(unix.F_SETSIG), uint64(unix.SIGSEGV), uint64(0))
	f.Add(uint32(unix.SYS_SETPRIORITY), uint64(unix.PRIO_USER), uint64(0), uint64(0), uint64(0))
	f.Add(uint32(x32Bit), uint64(0), uint64(0), uint64(0), uint64(0))
	filters := []filter{forFiles(), forSandbox(Options{}), forSandbox(Options{UnixSockets: true}), forSandbox(Options{Kernel: true})}
	f.Fuzz(func(t *testing.T, call uint32, a, b, c, d uint64) {
		for i, want := range filters {
			if got := judge(t, machine(t, want), arch, call, a, b, c, d, d); got != want.answer(call, a, b, c, d, d) {
				t.Errorf("filter %d: answer %#x, and its rules say %#x", i, got, want.answer(call, a, b, c, d, d))
			}
		}
	})
}

// answer reads the rules as they are written down.
func (f filter) answer(call uint32, arguments ...uint64) answer {
	ruled := false
	for _, r := range f.rules {
		ruled = ruled || r.call == call
		unmet := func(c condition) bool {
			return slices.Contains(c.values, uint32(arguments[c.argument])&c.mask) == c.not
		}
		if r.call == call && !slices.ContainsFunc(r.when, unmet) {
			return r.answer
		}
	}
	if ruled || slices.ContainsFunc(f.known, func(s span) bool { return s.first <= call && call <= s.last }) {
		return allowed
	}
	return f.unknown
}
