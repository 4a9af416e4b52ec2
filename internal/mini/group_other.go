//go:build !unix

package mini

import (
	"os"
	"os/exec"
)

// ownGroup does nothing where there are no process groups. Sandboxes have them.
func ownGroup(*exec.Cmd) {}

// killGroup ends the command alone.
func killGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

// signalName is for systems that have signals.
func signalName(*os.ProcessState) string { return "unknown" }
