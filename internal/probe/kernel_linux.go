package probe

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func kernelProbes() []Probe {
	return []Probe{
		{"kernel-modules", "loads and unloads kernel modules", Kernel, ways(kernelModules)},
		{"kernel-bpf", "loads a program and a map into the kernel", Kernel, ways(kernelBPF)},
		{"kernel-perf", "opens performance counters", Kernel, ways(kernelPerf)},
		{"kernel-kexec", "replaces the running kernel", Kernel, ways(kernelKexec)},
		{"kernel-reboot", "reboots the machine", Kernel, ways(kernelReboot)},
		{"kernel-io-uring", "sets up io_uring, a way around system call filters", Kernel, ways(kernelIOUring)},
		{"kernel-userfaultfd", "handles page faults of the kernel, the usual help in exploits", Kernel, ways(kernelUserfaultfd)},
		{"kernel-clock", "sets the clock", Kernel, ways(kernelClock)},
		{"kernel-names", "changes host name and domain name", Kernel, ways(kernelNames)},
		{"kernel-accounting", "turns process accounting to a file of its own", Kernel, ways(kernelAccounting)},
		{"kernel-swap", "turns swap on and off", Kernel, ways(kernelSwap)},
		{"kernel-quota", "changes disk quotas", Kernel, ways(kernelQuota)},
		{"kernel-io-ports", "takes the right to use hardware ports", Kernel, ways(ioPorts)},
		{"kernel-log", "reads the host's kernel log", Kernel, ways(kernelLog)},
		{"core-pattern", "opens the settings that make the kernel run a program on a crash or event", Kernel, ways(corePattern)},
		{"sysctl", "opens any kernel setting for writing", Kernel, sysctl},
		{"sysrq", "opens the kernel's emergency trigger for writing", Kernel, ways(sysrq)},
		{"sysfs", "opens any device or driver setting for writing", Kernel, sysfs},
		{"cgroup-write", "changes the control groups that hold its limits", Kernel, ways(cgroupWrite)},
	}
}

// raw makes a call whose arguments are nonsense; see allowed.
func raw(trap uintptr, args ...uintptr) func() error {
	var a [6]uintptr
	copy(a[:], args)
	return func() error {
		_, _, e := unix.Syscall6(trap, a[0], a[1], a[2], a[3], a[4], a[5])
		return allowed(errno(e))
	}
}

func kernelModules(Facts) []way {
	return []way{
		{"init_module", func() error { return allowed(unix.InitModule([]byte{0}, "")) }},
		{"finit_module", func() error { return allowed(unix.FinitModule(-1, "", 0)) }},
		{"delete_module", func() error { return allowed(unix.DeleteModule(newName(), unix.O_NONBLOCK)) }},
	}
}

func kernelBPF(Facts) []way {
	// BPF_MAP_CREATE of an array with one entry of four bytes.
	array := func() error {
		attr := [16]uint32{2, 4, 4, 1}
		return bpf(0, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	}
	// BPF_PROG_LOAD of a socket filter that returns 0.
	filter := func() error {
		code := [2]uint64{0x00000000000000b7, 0x0000000000000095}
		licence := [4]byte{'G', 'P', 'L', 0}
		attr := struct {
			kind, count   uint32
			code, licence uint64
			rest          [64]byte
		}{1, 2, uint64(uintptr(unsafe.Pointer(&code))), uint64(uintptr(unsafe.Pointer(&licence))), [64]byte{}}
		return bpf(5, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	}
	return []way{{"create a map", array}, {"load a program", filter}}
}

func bpf(command uintptr, attr unsafe.Pointer, size uintptr) error {
	fd, _, e := unix.Syscall(unix.SYS_BPF, command, uintptr(attr), size)
	if e == 0 {
		unix.Close(int(fd))
	}
	return allowed(errno(e))
}

func kernelPerf(Facts) []way {
	try := func(pid, cpu int) func() error {
		return func() error {
			attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK}
			attr.Size = uint32(unsafe.Sizeof(attr))
			fd, err := unix.PerfEventOpen(&attr, pid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
			if err == nil {
				unix.Close(fd)
			}
			return allowed(err)
		}
	}
	return []way{{"of the whole machine", try(-1, 0)}, {"of itself", try(0, -1)}}
}

// kernelKexec passes flags that do not exist.
func kernelKexec(Facts) []way {
	return []way{
		{"kexec_load", raw(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0xffff)},
		{"kexec_file_load", raw(unix.SYS_KEXEC_FILE_LOAD, ^uintptr(0), ^uintptr(0), 0, 0, 0xffff)},
	}
}

// kernelReboot passes wrong magic numbers.
func kernelReboot(Facts) []way {
	return []way{{"reboot", raw(unix.SYS_REBOOT, 1, 2, 3, 0)}}
}

func kernelIOUring(Facts) []way {
	return []way{{"io_uring_setup", func() error {
		var params [120]byte
		fd, _, e := unix.Syscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0)
		if e == 0 {
			unix.Close(int(fd))
		}
		return allowed(errno(e))
	}}}
}

func kernelUserfaultfd(Facts) []way {
	const userModeOnly = 1
	try := func(flags uintptr) func() error {
		return func() error {
			fd, _, e := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|flags, 0, 0)
			if e == 0 {
				unix.Close(int(fd))
			}
			return allowed(errno(e))
		}
	}
	return []way{
		{"for the kernel's faults", try(0)},
		{"for its own faults", try(userModeOnly)},
		{"open /dev/userfaultfd", func() error { return canRead("/dev/userfaultfd") }},
	}
}

// kernelClock sets nothing, and then the clock's rate to what it is.
func kernelClock(Facts) []way {
	sameRate := func() error {
		var now unix.Timex
		if _, err := unix.Adjtimex(&now); err != nil {
			return err
		}
		_, err := unix.Adjtimex(&unix.Timex{Modes: unix.ADJ_FREQUENCY, Freq: now.Freq})
		return err
	}
	return []way{
		{"settimeofday", raw(unix.SYS_SETTIMEOFDAY, 0, 0)},
		{"adjtimex", sameRate},
	}
}

func kernelNames(Facts) []way {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return []way{{"uname", func() error { return notTried(err) }}}
	}
	host, _, _ := bytes.Cut(u.Nodename[:], []byte{0})
	domain, _, _ := bytes.Cut(u.Domainname[:], []byte{0})
	return []way{
		{"sethostname", func() error { return unix.Sethostname(host) }},
		{"setdomainname", func() error { return unix.Setdomainname(domain) }},
	}
}

func kernelAccounting(Facts) []way {
	return []way{{"acct", func() error { return allowed(unix.Acct("/" + newName() + "/none")) }}}
}

func kernelSwap(Facts) []way {
	try := func(trap uintptr) func() error {
		return func() error {
			path, err := unix.BytePtrFromString("/" + newName())
			if err != nil {
				return notTried(err)
			}
			_, _, e := unix.Syscall(trap, uintptr(unsafe.Pointer(path)), 0, 0)
			return allowed(errno(e))
		}
	}
	return []way{{"swapon", try(unix.SYS_SWAPON)}, {"swapoff", try(unix.SYS_SWAPOFF)}}
}

// kernelQuota passes no quota to set, which is only noticed by whoever may.
func kernelQuota(f Facts) []way {
	if f.Workspace == "" {
		return nil
	}
	const setQuota = 0x800008 << 8 // Q_SETQUOTA of users
	return []way{{"quotactl_fd", func() error {
		fd, err := open(f.Workspace, unix.O_RDONLY|unix.O_DIRECTORY)
		if err != nil {
			return notTried(err)
		}
		defer unix.Close(fd)
		_, _, e := unix.Syscall6(unix.SYS_QUOTACTL_FD, uintptr(fd), setQuota, 0, 0, 0, 0)
		switch e {
		case unix.EINVAL, unix.ESRCH: // no quota on this file system
			return e
		}
		return allowed(errno(e))
	}}}
}

func kernelLog(f Facts) []way {
	list := eachPath("open", canRead, "/dev/kmsg", "/proc/kmsg")
	if f.KernelLog == "" {
		return list
	}
	const readAll = 3
	return append(list, way{"syslog", func() error {
		buf := make([]byte, maxRead)
		n, err := unix.Klogctl(readAll, buf)
		if err != nil {
			return err
		}
		return Facts{Secret: f.KernelLog}.secretIn(buf[:n])
	}})
}

func corePattern(Facts) []way {
	return eachPath("open for writing", canWrite,
		"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hotplug",
		"/proc/sys/kernel/usermodehelper/bset", "/proc/sys/fs/binfmt_misc/register", "/proc/sys/fs/suid_dumpable",
		"/sys/kernel/uevent_helper", "/sys/fs/cgroup/release_agent", "/proc/sys/kernel/poweroff_cmd")
}

func sysctl(Facts) Result { return writableBelow("/proc/sys") }

func sysrq(Facts) []way {
	return eachPath("open for writing", canWrite, "/proc/sysrq-trigger", "/proc/sys/kernel/sysrq", "/sys/power/state", "/proc/acpi/wakeup")
}

func sysfs(Facts) Result { return writableBelow("/sys") }

func cgroupWrite(Facts) []way {
	var list []way
	for _, dir := range append([]string{"/sys/fs/cgroup"}, folders("/sys/fs/cgroup")...) {
		list = append(list, eachPath("create a group in", func(dir string) error {
			path := filepath.Join(dir, newName())
			if err := unix.Mkdir(path, 0o755); err != nil {
				return err
			}
			return os.Remove(path)
		}, dir)...)
		for _, name := range []string{"cgroup.procs", "tasks", "release_agent", "notify_on_release", "memory.max", "pids.max"} {
			list = append(list, eachPath("open for writing", canWrite, filepath.Join(dir, name))...)
		}
	}
	return list
}

func folders(root string) []string {
	entries, _ := os.ReadDir(root) // a missing directory has none
	var list []string
	for _, e := range entries {
		if e.IsDir() && len(list) < 32 {
			list = append(list, filepath.Join(root, e.Name()))
		}
	}
	return list
}

// writableBelow looks for a setting that can be opened for writing.
func writableBelow(root string) Result {
	deadline := time.Now().Add(10 * time.Second)
	tried, writable := 0, ""
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return err
		case err != nil:
			return nil //nolint:nilerr // a folder that cannot be read hides its settings
		case time.Now().After(deadline):
			return fs.SkipAll
		case !d.Type().IsRegular():
			return nil
		}
		tried++
		if canWrite(path) == nil {
			writable = path
			return fs.SkipAll
		}
		return nil
	})
	switch {
	case writable != "":
		return breach("%s can be opened for writing", writable)
	case err != nil:
		return blocked("%v", err)
	}
	return blocked("none of %d settings below %s can be opened for writing", tried, root)
}
