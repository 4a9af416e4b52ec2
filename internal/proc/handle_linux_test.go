package proc_test

import (
	"os/exec"
	"slices"
	"testing"

	"github.com/agent-loop/ralph/internal/proc"
)

// Only the process that is meant is killed, and only while it is that process.
func TestKillOther(t *testing.T) {
	cmd := exec.Command("sh", "-c", "read line", "the one")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	is := func(name string) func([]string) bool {
		return func(args []string) bool { return slices.Contains(args, name) }
	}
	if err := proc.KillOther(cmd.Process.Pid, is("another one")); err != nil {
		t.Error(err)
	}
	select {
	case <-ended:
		t.Fatal("a process was killed that was not meant")
	default:
	}
	if err := proc.KillOther(cmd.Process.Pid, is("the one")); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("it ended by itself")
	}
	for _, pid := range []int{cmd.Process.Pid, 0, -1} {
		if err := proc.KillOther(pid, func([]string) bool { t.Error("asked about a process that is not there"); return true }); err != nil {
			t.Errorf("%d: %v", pid, err)
		}
	}
}
