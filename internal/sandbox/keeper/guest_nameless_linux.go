package keeper

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A file without a name takes disk as long as somebody holds it, and a descriptor
// is not the only way to: a mapping of one page will do, and so will a descriptor
// that was sent through a socket and not received. The kernel shows that there is
// such a file, but not how large it is.

// maxMapLine is longer than a line about a mapping, which ends in a path.
const maxMapLine = 64 << 10

// mapsNameless tells whether a process has mapped a file that has no name any more
// and is not in memory. What cannot be read counts as one, unless the process is
// gone.
func mapsNameless(proc string, memory map[string]bool) bool {
	f, err := os.Open(filepath.Join(proc, "maps"))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ESRCH)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxMapLine)
	for lines.Scan() {
		if isNameless(lines.Text(), memory) {
			return true
		}
	}
	return lines.Err() != nil && !errors.Is(lines.Err(), unix.ESRCH)
}

// isNameless reads a line such as
//
//	7f0000000000-7f0000001000 r--s 00000000 fe:00 1234      /project/file (deleted)
func isNameless(line string, memory map[string]bool) bool {
	fields := strings.Fields(line)
	if len(fields) < 6 || !strings.HasSuffix(line, " (deleted)") || memory[fields[3]] {
		return false
	}
	for _, prefix := range []string{"/memfd:", "/dev/zero", "/SYSV", "/[aio]"} {
		if strings.HasPrefix(fields[5], prefix) {
			return false
		}
	}
	return true
}

// memoryDevices are the devices of the places inside that are memory, as mappings
// name them.
func memoryDevices() (map[string]bool, error) {
	places, err := memoryMounts()
	if err != nil {
		return nil, err
	}
	devices := map[string]bool{}
	for _, place := range places {
		var stat unix.Stat_t
		if unix.Stat(place, &stat) == nil {
			devices[fmt.Sprintf("%02x:%02x", unix.Major(stat.Dev), unix.Minor(stat.Dev))] = true
		}
	}
	return devices, nil
}

// sendsDescriptors tells whether a socket of the process's has descriptors in it
// that nobody received yet. Kernels before Linux 5.6 do not show them.
func sendsDescriptors(proc string) bool {
	files, _ := filepath.Glob(filepath.Join(proc, "fdinfo", "*")) // the pattern is well formed
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // it was closed
		}
		if n, _ := field(string(data), "scm_fds:"); n > 0 {
			return true
		}
	}
	return false
}
