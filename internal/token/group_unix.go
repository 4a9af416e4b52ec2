//go:build unix

package token

import (
	"os/exec"
	"syscall"
)

// endWithChildren makes the end of a command's time the end of what it started.
func endWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
