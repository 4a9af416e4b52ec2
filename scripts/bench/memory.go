package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// containerID is by what name an engine's helpers know a sandbox, if it is a
// container.
func (s *site) containerID(c *contender, id string) string {
	program := c.engine.Name()
	if program != "docker" && program != "podman" {
		return ""
	}
	out, _ := exec.CommandContext(s.ctx, program, "inspect", "--format", "{{.Id}}", id).Output()
	return strings.TrimSpace(string(out))
}

// memoryOf is the proportional set size of all processes that are started for a
// sandbox: those that have one of its names among their arguments, and their
// descendants.
func memoryOf(names ...string) int64 {
	children := map[string][]string{}
	var queue []string
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range processes {
		pid := filepath.Base(dir)
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		children[fields[1]] = append(children[fields[1]], pid)
		arguments, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		for _, name := range names {
			if name != "" && bytes.Contains(arguments, []byte(name)) {
				queue = append(queue, pid)
			}
		}
	}
	var total int64
	for seen := map[string]bool{}; len(queue) > 0; queue = queue[1:] {
		if !seen[queue[0]] {
			seen[queue[0]] = true
			total += proportionalSize(queue[0])
			queue = append(queue, children[queue[0]]...)
		}
	}
	return total
}

func proportionalSize(pid string) int64 {
	data, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "Pss: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}
