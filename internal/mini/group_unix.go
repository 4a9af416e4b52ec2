//go:build unix

package mini

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes the command the leader of a process group, so that it can be
// ended together with all that it started.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends the group of a command that was started.
func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// signalName names the signal that ended a process, and not whether a core was
// dumped, which depends on the machine.
func signalName(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return "unknown"
}
