package cli

import (
	"bufio"
	"fmt"
	"os"
	"runtime"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// What a sandbox gets when nobody says anything: enough for a large build, and
// never so much that the machine suffers.
const (
	defaultMemory    = 8 << 30
	defaultCPUs      = 4
	defaultProcesses = 4096
	defaultDisk      = 20 << 30
)

func limits(r config.Resources) sandbox.Limits {
	l := sandbox.Limits{Memory: r.Memory, CPUs: r.CPUs, Processes: r.Processes, Disk: r.Disk, Time: r.Timeout}
	if l.Memory == 0 {
		l.Memory = defaultMemory
		if half := totalMemory() / 2; half > 0 && half < l.Memory {
			l.Memory = half
		}
	}
	if l.CPUs == 0 {
		l.CPUs = float64(min(defaultCPUs, runtime.NumCPU()))
	}
	if l.Processes == 0 {
		l.Processes = defaultProcesses
	}
	if l.Disk == 0 {
		l.Disk = defaultDisk
	}
	return l
}

// totalMemory is this machine's, or 0 where the system does not tell.
func totalMemory() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var kib int64
		if n, _ := fmt.Sscanf(lines.Text(), "MemTotal: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}
