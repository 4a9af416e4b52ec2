package idmap

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// newTable makes a user namespace that does nothing but say which owner on disk is
// shown as whom, for mount_setattr.
//
// A namespace is made with a process in it, and here that process must never do
// anything: it is started under trace, so that the kernel holds it before its first
// instruction, and is killed as soon as the namespace is open. It costs a fork.
func newTable(disk IDs, view View) (*os.File, error) {
	runtime.LockOSThread() // a tracer is a thread, and the tracee dies with it
	defer runtime.UnlockOSThread()
	pid, err := startHeld("/proc/self/exe", disk, view)
	if errors.Is(err, unix.EACCES) { // ralph's own file may be for one user alone
		pid, err = startHeld("/bin/sh", disk, view)
	}
	if err != nil {
		return nil, fmt.Errorf("making a user namespace: %w", err)
	}
	defer end(pid)
	return os.Open(fmt.Sprintf("/proc/%d/ns/user", pid))
}

// startHeld starts a program that never runs; any that can be started will do.
func startHeld(program string, disk IDs, view View) (pid int, err error) {
	return syscall.ForkExec(program, []string{"ralph:ids"}, &syscall.ProcAttr{
		Env: []string{},
		Sys: &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER,
			UidMappings: mapping(disk.UID, view.As.UID, view.RootGives),
			GidMappings: mapping(disk.GID, view.As.GID, view.RootGives),
			Ptrace:      true,
			Pdeathsig:   syscall.SIGKILL,
		},
	})
}

func mapping(disk, shown int, rootGives bool) []syscall.SysProcIDMap {
	table := []syscall.SysProcIDMap{{ContainerID: disk, HostID: shown, Size: 1}}
	if rootGives {
		table = append(table, syscall.SysProcIDMap{ContainerID: giver, HostID: 0, Size: 1})
	}
	return table
}

// explainTable says why there is no user namespace, where the kernel only hints.
func explainTable(path string, err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC):
		return &UnsupportedError{Path: path, Reason: "user namespaces are turned off (sysctl user.max_user_namespaces)"}
	case errors.Is(err, unix.EPERM):
		return &UnsupportedError{Path: path, Reason: "user namespaces, or tracing a process (sysctl kernel.yama.ptrace_scope), are forbidden here"}
	case errors.Is(err, unix.EINVAL):
		return &UnsupportedError{Path: path, Reason: "the kernel has no user namespaces"}
	}
	return fmt.Errorf("mapping the owner of %s: %w", path, err)
}

// end kills a child of ours and waits until it is gone.
func end(pid int) {
	_ = syscall.Kill(pid, syscall.SIGKILL)
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(pid, &status, 0, nil)
		if err != nil && err != syscall.EINTR || err == nil && !status.Stopped() {
			return
		}
	}
}
