package gvisor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/runsc/container"

	"github.com/agent-loop/ralph/internal/proc"
)

// processes are the host processes of one sandbox, as the kernel counts them.
type processes struct {
	sentry, gofer int
	handles       []int        // of both; they stay valid when the numbers are given away
	guestTables   atomic.Int64 // bytes of page tables, when last counted
	guestWritten  atomic.Int64 // bytes written through mapped files, when last counted
	guestMemory   string       // the sentry's descriptor of the file that all memory inside is part of
}

func findProcesses(dir, id string) (*processes, error) {
	c, err := container.Load(runscDir(dir), container.FullID{SandboxID: id, ContainerID: id}, container.LoadOpts{Exact: true, SkipCheck: true})
	if err != nil {
		return nil, fmt.Errorf("finding the sandbox's processes: %w", err)
	}
	p := &processes{sentry: c.Sandbox.Pid.Load(), gofer: c.GoferPid.Load()}
	for _, pid := range []int{p.sentry, p.gofer} {
		handle, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return p, fmt.Errorf("finding the sandbox's processes: %w", err)
		}
		p.handles = append(p.handles, handle)
	}
	p.guestMemory, err = memoryFile(p.sentry)
	return p, err
}

func memoryFile(sentry int) (string, error) {
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", sentry))
	if err != nil {
		return "", fmt.Errorf("finding the sandbox's memory: %w", err)
	}
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && strings.HasPrefix(target, "/memfd:runsc-memory") {
			return fd, nil
		}
	}
	return "", errors.New("finding the sandbox's memory: gVisor's memory file is not there")
}

// awaitEnd waits until the kernel has ended the processes, which it began when
// the launcher died.
func (p *processes) awaitEnd() error {
	var errs []error
	for _, handle := range p.handles {
		errs = append(errs, proc.AwaitExit(handle), unix.Close(handle))
	}
	return errors.Join(errs...)
}

// memory is what the sandbox uses: everything inside, its temporary files
// included, and what gVisor itself needs for it.
func (p *processes) memory() (int64, error) {
	var stat unix.Stat_t
	if err := unix.Stat(p.guestMemory, &stat); err != nil {
		return 0, fmt.Errorf("measuring the sandbox's memory: %w", err)
	}
	used := stat.Blocks*512 + p.guestTables.Load()
	for _, pid := range []int{p.sentry, p.gofer} {
		private, err := privateMemory(pid)
		if err != nil {
			return 0, err
		}
		used += private
	}
	return used, nil
}

// countGuest looks at the guest's own processes, one by one: at their page
// tables, since memory that many share is counted once but each has tables for
// it, and at what they wrote through mapped files.
func (p *processes) countGuest() {
	var tables, written int64
	for queue := children(p.sentry); len(queue) > 0; queue = append(queue[1:], children(queue[0])...) {
		tables += pageTables(queue[0])
		if n, err := bytesWritten(queue[0]); err == nil { // it may have ended; its parent has its count then
			written += n
		}
	}
	p.guestTables.Store(tables)
	p.guestWritten.Store(written)
}

func pageTables(pid int) int64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0 // it has ended
	}
	for line := range strings.Lines(string(data)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmPTE: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

// privateMemory is a process's memory that it shares with no file.
func privateMemory(pid int) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, fmt.Errorf("measuring the sandbox's memory: %w", err)
	}
	var size, resident, shared int64
	if _, err := fmt.Sscan(string(data), &size, &resident, &shared); err != nil {
		return 0, fmt.Errorf("measuring the sandbox's memory: %w", err)
	}
	return (resident - shared) * int64(os.Getpagesize()), nil
}

// written is how much the sandbox has written to disk: the sentry's and gofer's
// own writes, and those that processes inside made through mapped files.
func (p *processes) written() (int64, error) {
	total, err := bytesWritten(p.gofer)
	if err != nil {
		return 0, err
	}
	sentry, err := bytesWritten(p.sentry)
	if err != nil {
		return 0, err
	}
	return total + sentry + p.guestWritten.Load(), nil
}

// bytesWritten is the kernel's count for a process and the children it has
// reaped.
func bytesWritten(pid int) (int64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, fmt.Errorf("measuring the disk written: %w", err)
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, "write_bytes: "); ok {
			return strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	return 0, errors.New("measuring the disk written: the kernel does not count it")
}

func children(pid int) []int {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil
	}
	var pids []int
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		for _, field := range bytes.Fields(data) {
			if child, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// killLauncher ends another ralph's sandbox.
func killLauncher(pid int, id string) error {
	return proc.KillOther(pid, func(args []string) bool {
		return args[0] == launcherName && args[len(args)-1] == id
	})
}
