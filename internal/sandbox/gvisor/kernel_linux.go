package gvisor

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// checkKernel tries the one thing that administrators switch off: a user
// namespace. gVisor's own message would name neither the setting nor the mend.
func checkKernel(binary string) error {
	cmd := &exec.Cmd{
		Path: binary,
		Args: []string{initName, checkArg},
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}},
		},
	}
	err := cmd.Run()
	if err == nil {
		return nil
	}
	reason, fix := explainNamespaceError(err, readSetting)
	return &sandbox.UnavailableError{Engine: Name, Reason: reason, Fix: fix}
}

// explainNamespaceError names the kernel setting that forbids user namespaces.
func explainNamespaceError(err error, setting func(string) string) (reason, fix string) {
	switch {
	case setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
		return "kernel.apparmor_restrict_unprivileged_userns=1 forbids ordinary users to make user namespaces",
			"sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0, or give ralph an AppArmor profile with the line 'userns,', or run it with sudo"
	case setting("kernel/unprivileged_userns_clone") == "0":
		return "kernel.unprivileged_userns_clone=0 forbids ordinary users to make user namespaces",
			"sudo sysctl kernel.unprivileged_userns_clone=1, or run ralph with sudo"
	case setting("user/max_user_namespaces") == "0" || errors.Is(err, unix.ENOSPC):
		return "user.max_user_namespaces leaves no room for a user namespace",
			"sudo sysctl user.max_user_namespaces=15000"
	case errors.Is(err, unix.EPERM):
		return "user namespaces are forbidden, as in a container with the default seccomp profile",
			"start the container with --security-opt seccomp=unconfined, or use another engine"
	default:
		return fmt.Sprintf("a user namespace cannot be made: %v", err), "use another engine"
	}
}

func readSetting(name string) string {
	data, err := os.ReadFile("/proc/sys/" + name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// chooseCPUs picks n processors of those this process may use, as a list for
// the launcher, or none for no limit. The first is random, so that sandboxes do
// not all sit on the same ones.
func chooseCPUs(n float64) string {
	var allowed unix.CPUSet
	if n <= 0 || unix.SchedGetaffinity(0, &allowed) != nil || int(n) >= allowed.Count() {
		return ""
	}
	var all []string
	for cpu := range 8192 {
		if allowed.IsSet(cpu) {
			all = append(all, strconv.Itoa(cpu))
		}
	}
	chosen := make([]string, int(n))
	first := rand.IntN(len(all))
	for i := range chosen {
		chosen[i] = all[(first+i)%len(all)]
	}
	return strings.Join(chosen, ",")
}
