package keeper

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/agent-loop/ralph/internal/sandbox/usage"
)

// measure counts the disk of open files without a name, in all processes.
func (g *guest) measure(id uint64) {
	r := &measuredReply{ID: id}
	entries, err := os.ReadDir("/proc")
	memory, memoryErr := memoryDevices()
	r.Hidden = err != nil || memoryErr != nil
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		proc := filepath.Join("/proc", e.Name())
		if _, err := os.ReadDir(filepath.Join(proc, "fd")); os.IsPermission(err) {
			r.Hidden = true // not dumpable, so it may hold anything
		}
		r.Hidden = r.Hidden || mapsNameless(proc, memory) || sendsDescriptors(proc)
		r.Unlinked += usage.Unlinked(pid)
	}
	_ = g.replies.send(reply{Measured: r})
}
