package proc

import (
	"os/exec"
	"syscall"
)

// tie makes the kernel kill the program when the thread that started it ends, and
// gives it a session of its own, so that no terminal's keys reach it.
func tie(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
