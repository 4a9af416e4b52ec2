package probe

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/threads"
)

// fork makes a bare copy of this process. The copy has a single thread and no
// working runtime: it may only make raw system calls.
func fork() (pid int, err error) {
	p, _, e := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	return int(p), errno(e)
}

// spareThreads is more than a probe needs at once.
const spareThreads = 16

// forkBomb counts in a page that all its processes share. Nobody ends, so the
// count is how many are alive. It stops at twice the limit.
func forkBomb(f Facts) Result {
	if f.MaxProcesses == 0 {
		return notApplicable("the sandbox has no limit of processes")
	}
	page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_SHARED)
	if err != nil {
		return failed("sharing a page: %v", err)
	}
	alive := (*int32)(unsafe.Pointer(&page[0]))
	bound := int32(2*f.MaxProcesses + 16)
	threads.Reserve(spareThreads) // this process must live to tell
	// The copies must not react to the signals of a runtime they do not have.
	runtime.LockOSThread()
	for atomic.LoadInt32(alive) < bound {
		pid, err := fork()
		if err != nil {
			return held("processes", int(atomic.LoadInt32(alive)), f.MaxProcesses, err)
		}
		if pid == 0 {
			multiply(alive, bound)
		}
	}
	return survived("started %d processes, the limit is %d", atomic.LoadInt32(alive), f.MaxProcesses)
}

// multiply is what a copy does: it counts itself, makes more and waits.
func multiply(alive *int32, bound int32) {
	atomic.AddInt32(alive, 1)
	for atomic.LoadInt32(alive) < bound {
		pid, err := fork()
		if err != nil {
			break
		}
		if pid == 0 {
			atomic.AddInt32(alive, 1)
		}
	}
	for {
		_, _, _ = unix.RawSyscall6(unix.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
	}
}

// held judges a refusal that came at a count.
func held(what string, count, limit int, err error) Result {
	if count > limit {
		return breach("reached %d %s, the limit is %d, before: %v", count, what, limit, err)
	}
	return blocked("refused at %d %s, the limit is %d: %v", count, what, limit, err)
}

func zombies(f Facts) Result {
	if f.MaxProcesses == 0 {
		return notApplicable("the sandbox has no limit of processes")
	}
	runtime.LockOSThread()
	count := 2 * f.MaxProcesses
	for i := range count {
		pid, err := fork()
		if err != nil {
			return held("zombies", i, f.MaxProcesses, err)
		}
		if pid == 0 {
			_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	return blocked("left %d dead children unclaimed; they end with the sandbox", count)
}

// manyDescriptors makes each kind until it is refused.
func manyDescriptors(Facts) Result {
	const bound = 200_000
	kinds := []struct {
		name string
		open func() (int, error)
	}{
		{"files", func() (int, error) { return unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0) }},
		{"polls", func() (int, error) { return unix.EpollCreate1(unix.EPOLL_CLOEXEC) }},
		{"watches", func() (int, error) { return unix.InotifyInit1(unix.IN_CLOEXEC) }},
		{"sockets", func() (int, error) { return unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0) }},
	}
	var refusals []error
	for _, kind := range kinds {
		count, err := openMany(bound, kind.open)
		if err == nil {
			return breach("%d %s were opened without an end", bound, kind.name)
		}
		refusals = append(refusals, fmt.Errorf("%s at %d: %w", kind.name, count, err))
	}
	return blocked("refused: %v", errors.Join(refusals...))
}

// openMany opens descriptors until it is refused or has enough, and closes them.
func openMany(enough int, open func() (int, error)) (count int, err error) {
	var fds []int
	for len(fds) < enough && err == nil {
		var fd int
		if fd, err = open(); err == nil {
			fds = append(fds, fd)
		}
	}
	for _, fd := range fds {
		unix.Close(fd)
	}
	return len(fds), err
}

// hugeArguments uses pieces of 100 KiB: a single one is bounded more narrowly.
func hugeArguments(Facts) Result {
	piece := strings.Repeat("x", 100<<10)
	cmd, err := again("nothing")
	if err != nil {
		return failed("%v", err)
	}
	cmd.Env = os.Environ()
	for range 320 {
		cmd.Args = append(cmd.Args, piece)
		cmd.Env = append(cmd.Env, "X"+newName()+"="+piece)
	}
	if err := cmd.Run(); err != nil {
		return blocked("refused: %v", err)
	}
	return breach("a program was started with 64 MiB of arguments")
}

// outputFlood ends the flood with a newline, so that the report is a line.
func outputFlood(Facts) Result {
	block := []byte(strings.Repeat("flood ", 10<<10))
	const total = 256 << 20
	for _, out := range []*os.File{os.Stderr, os.Stdout} {
		for sent := 0; sent < total/2; sent += len(block) {
			if _, err := out.Write(block); err != nil {
				return blocked("refused after %d MiB: %v", sent>>20, err)
			}
		}
	}
	if _, err := os.Stdout.WriteString("\n"); err != nil {
		return blocked("refused: %v", err)
	}
	return blocked("wrote %d MiB; the host took them or threw them away", total>>20)
}

// killEverything spares only itself, as the kernel does. The host looks whether
// its own processes live.
func killEverything(Facts) Result {
	err := unix.Kill(-1, unix.SIGKILL)
	return blocked("all processes that may be signalled got a kill: %v", err)
}

func ignoreDeadline(f Facts) Result {
	ignoreSignals()
	for range runtime.NumCPU() {
		go func() {
			for i := 0; ; i++ {
				runtime.KeepAlive(i)
			}
		}()
	}
	beat(f)
	return failed("unreachable")
}

func ignoreSignals() {
	signal.Ignore(unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2)
}

// beat shows the host for as long as this process lives that it does.
func beat(f Facts) {
	for {
		file, err := os.OpenFile(filepath.Join(f.Workspace, Beat), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			_, _ = file.WriteString(".") // nobody to tell
			file.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// leaveDaemon starts one child that goes on and one that is stopped, each in a
// session of its own, and waits for ever.
func leaveDaemon(Facts) Result {
	ignoreSignals()
	for _, step := range []string{"daemon", "stopped-daemon"} {
		cmd, err := again(step)
		if err != nil {
			return failed("%v", err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			return failed("starting a daemon: %v", err)
		}
	}
	select {}
}

// resourceSteps are the children of leaveDaemon.
func resourceSteps() []Probe {
	daemon := func(f Facts) Result { ignoreSignals(); beat(f); return failed("unreachable") }
	stopped := func(f Facts) Result {
		if err := unix.Kill(os.Getpid(), unix.SIGSTOP); err != nil {
			return failed("stopping: %v", err)
		}
		return daemon(f)
	}
	return []Probe{
		{"daemon", "", Resources, inside(daemon)},
		{"stopped-daemon", "", Resources, inside(stopped)},
	}
}
