package keeper

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// unnamedInterval is how often memory is counted that no process need have
// mapped. That looks at every descriptor, so it is not often.
const unnamedInterval = 250 * time.Millisecond

// unnamed is memory without a name or an owner: files that exist only as
// descriptors, segments that nobody has attached, and messages in queues.
type unnamed struct{ bytes atomic.Int64 }

// keepCounting rests in proportion to what counting takes.
func (u *unnamed) keepCounting() {
	for {
		began := time.Now()
		u.bytes.Store(anonymousFiles() + systemV("shm", "rss") + systemV("msg", "cbytes"))
		time.Sleep(unnamedInterval + restraint*time.Since(began))
	}
}

// anonymousFiles adds up what memfd_create made, each once.
func anonymousFiles() int64 {
	var total int64
	seen := map[uint64]bool{}
	fds, _ := filepath.Glob("/proc/[1-9]*/fd/*") // the pattern is well formed
	for _, fd := range fds {
		target, err := os.Readlink(fd)
		if err != nil || !strings.HasPrefix(target, "/memfd:") {
			continue
		}
		var stat unix.Stat_t
		if unix.Stat(fd, &stat) == nil && !seen[stat.Ino] {
			seen[stat.Ino] = true
			total += stat.Blocks * 512
		}
	}
	return total
}

// systemV adds up a column of a table of System V's: segments of shared memory,
// attached or not, or queues of messages.
func systemV(table, column string) int64 {
	data, err := os.ReadFile("/proc/sysvipc/" + table)
	if err != nil {
		return 0
	}
	lines := strings.Split(string(data), "\n")
	at := slices.Index(strings.Fields(lines[0]), column)
	var total int64
	for _, line := range lines[1:] {
		if fields := strings.Fields(line); at >= 0 && at < len(fields) {
			n, _ := strconv.ParseInt(fields[at], 10, 64)
			total += n
		}
	}
	return total
}
