package probe

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A user namespace makes anyone root within it. Some sandboxes allow it, since
// build tools use it; what counts is that this root reaches nothing more.
func namespaceProbes() []Probe {
	const files = unix.CLONE_NEWUSER | unix.CLONE_NEWNS
	return []Probe{
		{"namespace-files", "as root of a user namespace, mounts its way to the home directory", Kernel, inNamespaces("ns-files", files)},
		{"namespace-protected", "as root of a user namespace, makes protected paths writable", Kernel, inNamespaces("ns-protected", files)},
		{"namespace-unmount", "as root of a user namespace, unmounts everything to see what is below", Kernel, inNamespaces("ns-unmount", files)},
		{"namespace-chroot", "as root of a user namespace, breaks out of a root directory", Kernel, inNamespaces("ns-chroot", files)},
		{"namespace-devices", "as root of a user namespace, makes and opens device nodes", Kernel, inNamespaces("ns-devices", files)},
		{"namespace-processes", "as root of a user namespace, mounts /proc and control groups anew to reach the host's processes", Kernel, inNamespaces("ns-processes", files|unix.CLONE_NEWPID)},
		{"namespace-cgroup", "as root of user and cgroup namespaces, mounts control groups", Kernel, inNamespaces("ns-cgroup", files|unix.CLONE_NEWCGROUP)},
		{"namespace-sockets", "as root of a user namespace, opens raw sockets and changes the network", Kernel, inNamespaces("ns-sockets", unix.CLONE_NEWUSER)},
		{"namespace-network", "as root of its own network, connects out", Kernel, inNamespaces("ns-network", unix.CLONE_NEWUSER|unix.CLONE_NEWNET)},
		{"namespace-kernel", "as root of a user namespace, changes the kernel", Kernel, inNamespaces("ns-kernel", unix.CLONE_NEWUSER)},
		{"namespace-join", "joins the namespaces of the first process and of a process of the host", Kernel, ways(joinNamespaces)},
		{"namespace-join-as-root", "as root of a user namespace, joins other namespaces", Kernel, inNamespaces("ns-join", files)},
		{"clone-into-cgroup", "starts a process outside the control group that holds its limits", Kernel, ways(cloneIntoCgroup)},
		{"clone-with-number", "starts a process under a number of its choice", Kernel, ways(cloneWithNumber)},
	}
}

// inNamespaces runs a step in a process with new namespaces, as their root.
func inNamespaces(step string, flags uintptr) func(Facts) Result {
	return func(Facts) Result {
		cmd, err := again(step)
		if err != nil {
			return failed("%v", err)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  flags,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			return blocked("new namespaces are refused: %v", err)
		}
		waited := cmd.Wait()
		report, err := Decode(step, out.Bytes())
		if err != nil {
			return failed("in a namespace: %v (%v)", err, waited)
		}
		report.Detail = "in a namespace: " + report.Detail
		return report.Result
	}
}

// again prepares to run this program as another probe.
func again(name string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	return exec.Command(self, "probe", name), nil
}

func joinNamespaces(f Facts) []way {
	var list []way
	for _, pid := range []int{1, f.HostPID} {
		if pid == 0 {
			continue
		}
		for _, kind := range []string{"mnt", "net", "pid", "user", "uts", "ipc", "cgroup"} {
			path := procPath(pid, "ns/"+kind)
			list = append(list, way{"join " + path, onOwnThread(func() error { return join(path, kind) })})
		}
	}
	return list
}

// join works when the thread enters a namespace. Entering the one it is in
// already needs the same right, except for user namespaces, where it is an
// error of its own.
func join(path, kind string) error {
	fd, err := open(path, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// A thread that shares its root and working directory may not change its
	// mount or user namespace.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return notTried(err)
	}
	err = unix.Setns(fd, 0)
	if kind == "user" && errors.Is(err, unix.EINVAL) {
		return err
	}
	return allowed(err)
}

// cloneIntoCgroup starts a harmless program directly in every control group
// that it can see.
func cloneIntoCgroup(Facts) []way {
	var list []way
	dirs := append([]string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}, folders("/sys/fs/cgroup")...)
	for _, dir := range dirs {
		list = append(list, way{"start in " + dir, func() error {
			fd, err := open(dir, unix.O_RDONLY|unix.O_DIRECTORY)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			cmd, err := again("nothing")
			if err != nil {
				return notTried(err)
			}
			cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: fd}
			if err := cmd.Start(); err != nil {
				return err
			}
			_ = cmd.Wait() // how it ends does not matter: it was started
			return nil
		}})
	}
	return list
}

// cloneArgs is struct clone_args of the kernel, in its second version.
type cloneArgs struct {
	flags, pidFD, childTID, parentTID, exitSignal, stack, stackSize, tls uint64
	setTID                                                               unsafe.Pointer
	setTIDSize                                                           uint64
}

// cloneWithNumber asks for a process number, which only whoever rules the
// process namespace may. The child ends at once.
func cloneWithNumber(Facts) []way {
	return []way{{"clone3 with a number", onOwnThread(func() error {
		number := [1]int32{31337}
		args := cloneArgs{exitSignal: uint64(unix.SIGCHLD), setTID: unsafe.Pointer(&number), setTIDSize: 1}
		pid, _, e := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
		if e != 0 {
			return allowed(e)
		}
		if pid == 0 {
			_, _, _ = unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		_, err := unix.Wait4(int(pid), nil, 0, nil)
		return err
	})}}
}
