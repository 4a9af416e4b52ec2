package keeper

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// memoryInterval bounds how far a sandbox can run past its memory limit.
	memoryInterval = 20 * time.Millisecond
	// groupInterval is how often the kernel's own count is looked at.
	groupInterval = 100 * time.Millisecond
	// restraint is how many times longer than a precise measurement the pause after
	// it is.
	restraint = 20
)

// watchMemory tells the host when the sandbox has used more memory than it may:
// the host then ends it. Where the kernel keeps the limit, it is told that it did.
func (g *guest) watchMemory(s Settings) error {
	if s.MemoryGroup {
		if before, err := groupKills(); err == nil {
			g.struck = func() bool {
				now, err := groupKills()
				return err == nil && now > before
			}
			go g.watchGroup()
		}
	}
	if s.Memory > 0 {
		tmpfs, err := memoryMounts()
		if err != nil {
			return err
		}
		go g.watchProcesses(s.Memory, tmpfs)
	}
	return nil
}

func (g *guest) limitReached() { _ = g.replies.send(reply{Limit: "memory"}) }

// watchGroup waits until the kernel has killed a process for want of memory.
func (g *guest) watchGroup() {
	for !g.struck() {
		time.Sleep(groupInterval)
	}
	g.limitReached()
}

// groupKills is how many processes the control group's memory limit has cost,
// by either version of control groups.
func groupKills() (int64, error) {
	for _, path := range []string{"/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"} {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if kills, ok := field(string(data), "oom_kill"); ok {
			return kills, nil
		}
	}
	return 0, fmt.Errorf("reading the memory control group: %w", os.ErrNotExist)
}

// watchProcesses adds up what the sandbox's processes and its files in memory
// take. What processes share is at first counted for each: only when that is too
// much is it worth the time to count it right.
func (g *guest) watchProcesses(allowed int64, tmpfs []string) {
	var rest time.Duration
	var unnamed unnamed
	go unnamed.keepCounting()
	for {
		time.Sleep(memoryInterval + rest)
		rest = 0
		files := filesInMemory(tmpfs) + unnamed.bytes.Load()
		if files+eachProcess(roughly) <= allowed {
			continue
		}
		began := time.Now()
		if files+eachProcess(precisely) > allowed {
			g.limitReached()
			return
		}
		rest = restraint * time.Since(began)
	}
}

// memoryMounts are the places inside that are memory. Nobody can add to them:
// programs may not mount.
func memoryMounts() ([]string, error) {
	data, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, fmt.Errorf("finding the places that are memory: %w", err)
	}
	var found []string
	seen := map[uint64]bool{}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		var stat unix.Stat_t
		if len(fields) < 3 || fields[2] != "tmpfs" || unix.Stat(fields[1], &stat) != nil || seen[stat.Dev] {
			continue
		}
		seen[stat.Dev] = true
		found = append(found, fields[1])
	}
	return found, nil
}

func filesInMemory(tmpfs []string) int64 {
	var total int64
	for _, dir := range tmpfs {
		var stat unix.Statfs_t
		if unix.Statfs(dir, &stat) == nil {
			total += int64(stat.Blocks-stat.Bfree) * stat.Bsize
		}
	}
	return total
}

// unseen is what counts for processes that cannot be looked at: more than any limit.
const unseen = math.MaxInt64 / 2

func eachProcess(measure func(proc string) int64) int64 {
	proc, err := os.Open("/proc")
	if err != nil {
		return unseen
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	var total int64
	for _, name := range names {
		if name[0] >= '1' && name[0] <= '9' {
			total += measure("/proc/" + name)
		}
	}
	return total
}

// roughly is what a process would take if it shared nothing, in memory or moved out
// to swap.
func roughly(proc string) int64 {
	data, err := os.ReadFile(proc + "/status")
	if err != nil {
		return 0 // it has ended
	}
	return kibibytes(string(data), "RssAnon:", "RssShmem:", "VmPTE:", "VmSwap:", "HugetlbPages:")
}

// precisely divides what processes share among them. A process that does not let
// itself be looked at counts in full.
func precisely(proc string) int64 {
	rough := roughly(proc)
	data, err := os.ReadFile(proc + "/smaps_rollup")
	if err != nil {
		return rough
	}
	status, _ := os.ReadFile(proc + "/status")
	return kibibytes(string(data), "Pss_Anon:", "Pss_Shmem:", "SwapPss:") + kibibytes(string(status), "VmPTE:", "HugetlbPages:")
}

func kibibytes(text string, names ...string) int64 {
	var total int64
	for _, name := range names {
		n, _ := field(text, name)
		total += n << 10
	}
	return total
}

// field finds "NAME  NUMBER" at the start of a line.
func field(text, name string) (int64, bool) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != name {
			continue
		}
		n, err := strconv.ParseInt(fields[1], 10, 64)
		return n, err == nil
	}
	return 0, false
}
