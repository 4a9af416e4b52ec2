package gvisor

import (
	"os"
	"os/exec"
	"syscall"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/machine"
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
	reason, fix := machine.ExplainNamespaceError(err)
	return &sandbox.UnavailableError{Engine: Name, Reason: reason, Fix: fix}
}
