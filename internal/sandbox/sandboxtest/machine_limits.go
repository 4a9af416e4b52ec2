package sandboxtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// checkLimits runs into each limit and expects the engine to say which it was.
func (m machine) checkLimits(t *testing.T) {
	for _, test := range []struct {
		name   string
		limits sandbox.Limits
		script string
		want   string
	}{
		{"memory of a process", sandbox.Limits{Memory: 256 << 20}, guestPath + " hog 1000", "memory"},
		{"memory of files in tmp", sandbox.Limits{Memory: 256 << 20}, "for i in 1 2 3 4; do head -c 200M /dev/zero > /tmp/$i; done; sleep 30", "memory"},
		{"memory of many processes", sandbox.Limits{Memory: 256 << 20}, "for i in 1 2 3 4 5 6; do " + guestPath + " hog 60 & done; wait", "memory"},
		{"memory of a file without a name", sandbox.Limits{Memory: 256 << 20}, guestPath + " memfd 1000", "memory"},
		{"disk over many files", sandbox.Limits{Disk: 32 << 20}, "for i in 1 2 3 4 5 6 7 8; do head -c 20M /dev/zero > $i; done; sleep 30", "disk"},
		{"time", sandbox.Limits{Time: 2 * time.Second}, "sleep 60", "time"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := m.endedBy(t, test.limits, test.script); got != test.want {
				t.Errorf("the %s limit ended it, want %s", got, test.want)
			}
		})
	}
	t.Run("one file cannot pass the disk limit", m.checkFileSize)
	t.Run("processes", m.checkProcesses)
	t.Run("CPUs", m.checkCPUs)
}

// endedBy runs a script that must run into a limit.
func (m machine) endedBy(t *testing.T, limits sandbox.Limits, script string) string {
	t.Helper()
	spec := WithGuest(t, m.binaries)
	spec.Limits = limits
	sb := Create(t, m.engine, spec)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := sb.Exec(ctx, sandbox.Command{Args: []string{"sh", "-c", script}})
	var limit *sandbox.LimitError
	if !errors.As(err, &limit) {
		t.Fatalf("%s: error is %v, want a LimitError", script, err)
	}
	return limit.Limit
}

func (m machine) checkFileSize(t *testing.T) {
	spec := Plain(t)
	spec.Limits.Disk = 8 << 20
	sb := Create(t, m.engine, spec)
	_, _ = sb.Exec(t.Context(), sandbox.Command{Args: []string{"sh", "-c", "head -c 100M /dev/zero > big"}})
	info, err := os.Stat(filepath.Join(spec.Workspace(), "big"))
	if err != nil || info.Size() > spec.Limits.Disk {
		t.Errorf("the file is %v, %v", info, err)
	}
}

// checkProcesses: the limit is for the whole sandbox, not for each command.
func (m machine) checkProcesses(t *testing.T) {
	spec := Plain(t)
	spec.Limits.Processes = 20
	sb := Create(t, m.engine, spec)
	var stderr strings.Builder
	code, err := sb.Exec(t.Context(), sandbox.Command{
		Args:   []string{"sh", "-c", "for i in $(seq 100); do sleep 30 & done"},
		Stderr: &stderr,
	})
	if err != nil || code == 0 {
		t.Errorf("100 processes passed a limit of 20: exit code %d, %v, %s", code, err, &stderr)
	}
}

// checkCPUs shows that two busy loops get no more than one processor's time. What
// programs inside are told differs: some engines hide processors, others ration.
func (m machine) checkCPUs(t *testing.T) {
	spec := Plain(t)
	spec.Limits.CPUs = 1
	sb := Create(t, m.engine, spec)
	if Output(t, sb, "nproc") == "1\n" {
		return
	}
	// On a machine that others use, the loops may for a while get less anyway.
	eventually(t, "two busy loops are held back", func() bool {
		Output(t, sb, "sh", "-c", `busy() { i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; }; busy & busy & wait`)
		throttled := Output(t, sb, "sh", "-c", "cat /sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpu/cpu.stat 2>/dev/null | grep nr_throttled")
		return strings.TrimSpace(throttled) != "nr_throttled 0"
	})
}
