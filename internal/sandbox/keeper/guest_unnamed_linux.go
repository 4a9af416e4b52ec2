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
// descriptors, and segments that nobody has attached.
type unnamed struct{ bytes atomic.Int64 }

// keepCounting rests in proportion to what counting takes.
func (u *unnamed) keepCounting() {
	for {
		began := time.Now()
		u.bytes.Store(anonymousFiles() + segments())
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

// segments adds up shared memory segments, attached or not.
func segments() int64 {
	data, err := os.ReadFile("/proc/sysvipc/shm")
	if err != nil {
		return 0
	}
	lines := strings.Split(string(data), "\n")
	column := slices.Index(strings.Fields(lines[0]), "rss")
	var total int64
	for _, line := range lines[1:] {
		if fields := strings.Fields(line); column >= 0 && column < len(fields) {
			n, _ := strconv.ParseInt(fields[column], 10, 64)
			total += n
		}
	}
	return total
}
