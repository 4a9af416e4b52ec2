package cli

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// limits fills in what nobody said, so that the machine never suffers.
func limits(r config.Resources) sandbox.Limits {
	l := sandbox.Limits{Memory: r.Memory, CPUs: r.CPUs, Processes: r.Processes, Disk: r.Disk, Time: r.Timeout}
	if l.Memory == 0 {
		l.Memory = config.DefaultMemory
		if half := totalMemory() / 2; half > 0 && half < l.Memory {
			l.Memory = half
		}
	}
	if l.CPUs == 0 {
		l.CPUs = float64(min(config.DefaultCPUs, runtime.NumCPU()))
	}
	if l.Processes == 0 {
		l.Processes = config.DefaultProcesses
	}
	if l.Disk == 0 {
		l.Disk = config.DefaultDisk
	}
	return l
}

// totalMemory is this machine's, or less where a control group gives ralph less;
// 0 where the system does not tell.
func totalMemory() int64 {
	total := machineMemory()
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		var limit int64
		data, err := os.ReadFile(file)
		if _, scanErr := fmt.Sscan(string(data), &limit); err == nil && scanErr == nil && limit > 0 && limit < total {
			total = limit
		}
	}
	return total
}

func machineMemory() int64 {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "MemTotal: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}
