package probe

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

func processProbes() []Probe {
	return []Probe{
		{"host-environment", "reads the environment of every process it can see", Processes, ways(hostEnvironment)},
		{"host-arguments", "reads the arguments of every process it can see", Processes, ways(hostArguments)},
		{"host-signal", "signals a process of the host by its number and by a handle", Processes, ways(hostSignal)},
		{"host-trace", "traces a process of the host and reads its memory", Processes, ways(hostTrace)},
		{"helper-trace", "traces the sandbox's own processes: the first one and the door to the host", Processes, ways(helperTrace)},
		{"helper-memory", "opens the memory of the sandbox's own processes", Processes, ways(helperMemory)},
		{"helper-descriptors", "takes open descriptors from the sandbox's own processes, one of which is the door", Processes, ways(helperDescriptors)},
		{"inherited-descriptors", "looks for descriptors that leaked into it from the host", Processes, inheritedDescriptors},
		{"host-terminal", "looks for a terminal of the host that it could type into", Processes, ways(hostTerminal)},
		{"host-keyring", "reads a kernel key of the host's user", Processes, ways(hostKeyring)},
		{"host-shared-memory", "looks for shared memory, queues and semaphores of the host", Processes, ways(hostSharedMemory)},
	}
}

func hostEnvironment(f Facts) []way {
	if f.Secret == "" {
		return nil
	}
	var paths []string
	for _, pid := range f.visible() {
		paths = append(paths, procPath(pid, "environ"))
	}
	return eachPath("read", f.hasSecret, paths...)
}

func hostArguments(f Facts) []way {
	if f.Secret == "" {
		return nil
	}
	var paths []string
	for _, pid := range f.visible() {
		paths = append(paths, procPath(pid, "cmdline"))
	}
	return eachPath("read", f.hasSecret, paths...)
}

// visible lists every process in /proc and the host's, which some file systems
// serve by name although they do not list it.
func (f Facts) visible() []int {
	list := processes()
	if f.HostPID != 0 {
		list = append(list, f.HostPID)
	}
	return list
}

// onHost makes ways against the host's process. A number is taken inside too
// now and then: then what answers is a process of the sandbox, and no breach.
func (f Facts) onHost(what string, try func(pid int) error) []way {
	if f.HostPID == 0 {
		return nil
	}
	return []way{{fmt.Sprintf("%s process %d", what, f.HostPID), func() error {
		err := try(f.HostPID)
		if err == nil && f.numberTakenInside() {
			return errors.New("that number belongs to a process of the sandbox")
		}
		return err
	}}}
}

func (f Facts) numberTakenInside() bool {
	line, err := read(procPath(f.HostPID, "cmdline"))
	return err == nil && f.secretIn(line) != nil
}

// hostSignal counts EPERM as a breach: the process was found.
func hostSignal(f Facts) []way {
	found := func(err error) error {
		if errors.Is(err, unix.EPERM) {
			return nil
		}
		return err
	}
	handle := func(pid int) error {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return found(err)
		}
		defer unix.Close(fd)
		return found(unix.PidfdSendSignal(fd, 0, nil, 0))
	}
	list := f.onHost("signal", func(pid int) error { return found(unix.Kill(pid, 0)) })
	list = append(list, f.onHost("signal the group of", func(pid int) error { return found(unix.Kill(-pid, 0)) })...)
	return append(list, f.onHost("open a handle of", handle)...)
}

func hostTrace(f Facts) []way {
	list := f.onHost("trace", trace)
	list = append(list, f.onHost("read the memory of", readMemory)...)
	return append(list, f.onHost("open the memory of", func(pid int) error { return canRead(procPath(pid, "mem")) })...)
}

// onHelpers makes ways against the other processes of the sandbox. A probe runs
// alone, so they are those that keep the sandbox running.
func onHelpers(what string, try func(pid int) error) []way {
	const enough = 8
	var list []way
	for _, pid := range append([]int{1}, processes()...) {
		again := pid == 1 && len(list) > 0
		ours := pid == os.Getpid() || pid == os.Getppid() // whoever runs the probes
		if (pid == 1 || !ours) && !again && len(list) < enough {
			list = append(list, way{fmt.Sprintf("%s process %d", what, pid), func() error { return try(pid) }})
		}
	}
	return list
}

func helperTrace(Facts) []way { return onHelpers("trace", trace) }

// trace attaches without stopping the process. The attachment ends with the
// thread that made it.
func trace(pid int) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		done <- unix.PtraceSeize(pid)
	}()
	return <-done
}

func readMemory(pid int) error {
	var word [8]byte
	local := []unix.Iovec{{Base: &word[0], Len: uint64(len(word))}}
	remote := []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&word[0])), Len: len(word)}}
	_, err := unix.ProcessVMReadv(pid, local, remote, 0)
	if err == unix.EFAULT { // allowed, but the other process has nothing at that address
		return nil
	}
	return err
}

func helperMemory(Facts) []way {
	list := onHelpers("open for writing the memory of", func(pid int) error { return canOpen(procPath(pid, "mem"), unix.O_RDWR) })
	list = append(list, onHelpers("open the memory of", func(pid int) error { return canRead(procPath(pid, "mem")) })...)
	return append(list, onHelpers("read the memory of", readMemory)...)
}

// helperDescriptors leaves the standard streams alone: those of a helper may be
// anybody's.
func helperDescriptors(Facts) []way {
	var list []way
	for n := 3; n < 16; n++ {
		list = append(list, onHelpers(fmt.Sprintf("open descriptor %d of", n), func(pid int) error {
			return canRead(procPath(pid, fmt.Sprintf("fd/%d", n)))
		})...)
		list = append(list, onHelpers(fmt.Sprintf("copy descriptor %d of", n), func(pid int) error { return copyDescriptor(pid, n) })...)
	}
	return list
}

func copyDescriptor(pid, n int) error {
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(process)
	fd, err := unix.PidfdGetfd(process, n, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func hostKeyring(f Facts) []way {
	if f.HostKey == "" || f.Secret == "" {
		return nil
	}
	rings := []struct {
		name string
		id   int
	}{
		{"session", unix.KEY_SPEC_SESSION_KEYRING}, {"user", unix.KEY_SPEC_USER_KEYRING},
		{"user session", unix.KEY_SPEC_USER_SESSION_KEYRING},
	}
	var list []way
	for _, ring := range rings {
		list = append(list, way{"search the " + ring.name + " keyring", func() error {
			key, err := unix.KeyctlSearch(ring.id, "user", f.HostKey, 0)
			if err != nil {
				return err
			}
			return f.readKey(key)
		}})
	}
	request := way{"request the key", func() error {
		key, err := unix.RequestKey("user", f.HostKey, "", 0)
		if err != nil {
			return err
		}
		return f.readKey(key)
	}}
	listed := way{"list /proc/keys", func() error {
		data, err := read("/proc/keys")
		if err != nil {
			return err
		}
		return Facts{Secret: Secret(f.HostKey)}.secretIn(data)
	}}
	return append(list, request, listed)
}

func (f Facts) readKey(key int) error {
	buf := make([]byte, 4096)
	n, err := unix.KeyctlBuffer(unix.KEYCTL_READ, key, buf, 0)
	if err != nil {
		return err
	}
	return f.secretIn(buf[:min(n, len(buf))])
}

// hostSharedMemory relies on a fresh sandbox: it has made none of its own.
func hostSharedMemory(Facts) []way {
	table := func(path string) error {
		data, err := read(path)
		if err != nil {
			return err
		}
		lines := 0
		for _, b := range data {
			if b == '\n' {
				lines++
			}
		}
		if lines > 1 { // the first one is the heading
			return nil
		}
		return errors.New("empty")
	}
	folder := func(path string) error {
		entries, err := os.ReadDir(path)
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			return nil
		}
		return errors.New("empty")
	}
	list := eachPath("read", table, "/proc/sysvipc/shm", "/proc/sysvipc/msg", "/proc/sysvipc/sem")
	return append(list, eachPath("list", folder, "/dev/shm", "/dev/mqueue")...)
}
