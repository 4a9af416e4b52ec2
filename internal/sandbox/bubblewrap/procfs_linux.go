package bubblewrap

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/agent-loop/ralph/internal/sandbox/roster"
)

// hiddenInProc tell of the whole machine, of which a sandbox sees only its part:
// keys, modules, devices. Inside they are empty and closed. What only root may read
// is closed already: a sandbox is never root on the host.
var hiddenInProc = []string{
	"/proc/acpi", "/proc/asound", "/proc/keys", "/proc/key-users", "/proc/kallsyms",
	"/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/modules", "/proc/timer_stats",
}

// lockedInProc are settings. The kernel lets the owner of a namespace change some;
// all others are root's.
var lockedInProc = []string{"/proc/sys"}

// procArguments make what is in /proc beside processes empty or read-only. What
// this kernel does not have cannot be covered.
func procArguments(entry *roster.Entry) ([]string, error) {
	folder, err := entry.Folder("nothing")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(entry.Dir, "empty")
	if err := os.WriteFile(file, nil, 0); err != nil {
		return nil, fmt.Errorf("making an empty file: %w", err)
	}
	var args []string
	for _, path := range lockedInProc {
		if _, err := os.Lstat(path); err == nil {
			args = append(args, "--ro-bind", path, path)
		}
	}
	for _, path := range hiddenInProc {
		switch info, err := os.Lstat(path); {
		case err != nil:
		case info.IsDir():
			args = append(args, "--ro-bind", folder, path)
		default:
			args = append(args, "--ro-bind", file, path)
		}
	}
	return args, nil
}
