package keeper

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Disk is held by what no list of open files shows, and that is noticed.
func TestNamelessMappings(t *testing.T) {
	memory, err := memoryDevices()
	if err != nil {
		t.Fatal(err)
	}
	if mapsNameless("/proc/self", memory) {
		t.Skip("this test's own program was deleted while it ran")
	}
	file := filepath.Join(t.TempDir(), "file")
	page := mapFile(t, file)
	if mapsNameless("/proc/self", memory) {
		t.Error("a file that has its name is taken for one that has none")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if !onDisk(t, filepath.Dir(file)) {
		t.Skip("temporary files are in memory here")
	}
	if !mapsNameless("/proc/self", memory) {
		t.Error("the mapping is not noticed")
	}
	if err := unix.Munmap(page); err != nil {
		t.Fatal(err)
	}
	if mapsNameless("/proc/self", memory) {
		t.Error("it is noticed when it is gone")
	}
	if mapsNameless("/proc/none", memory) {
		t.Error("a process that is gone holds something")
	}
}

// mapFile maps a page of a new file, and closes it.
func mapFile(t *testing.T, file string) []byte {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func onDisk(t *testing.T, dir string) bool {
	t.Helper()
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		t.Fatal(err)
	}
	return stat.Type != unix.TMPFS_MAGIC
}

func TestIsNameless(t *testing.T) {
	memory := map[string]bool{"00:2d": true}
	for line, want := range map[string]bool{
		"":                                false,
		"(deleted)":                       false,
		"7f00-7f01 rw-p 00000000 00:00 0": false,
		"7f00-7f01 r-xp 00000000 fe:00 99          /usr/lib/libc.so.6":           false,
		"7f00-7f01 r--s 00000000 fe:00 99          /project/file (deleted)":      true,
		"7f00-7f01 r--s 00000000 fe:00 99          /project/two words (deleted)": true,
		"7f00-7f01 r--s 00000000 fe:00 99          /tmp/project/file (deleted)":  true,
		"7f00-7f01 rw-s 00000000 00:2d 99          /tmp/file (deleted)":          false,
		"7f00-7f01 rw-s 00000000 00:01 99          /memfd:x (deleted)":           false,
		"7f00-7f01 rw-s 00000000 00:01 99          /dev/zero (deleted)":          false,
		"7f00-7f01 rw-s 00000000 00:01 99          /SYSV00000000 (deleted)":      false,
		"7f00-7f01 rw-s 00000000 00:13 99          /[aio] (deleted)":             false,
	} {
		if got := isNameless(line, memory); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

func TestDescriptorsOnTheirWay(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	if sendsDescriptors("/proc/self") {
		t.Error("noticed before anything was sent")
	}
	if err := unix.Sendmsg(pair[0], []byte{0}, unix.UnixRights(0), nil, 0); err != nil {
		t.Fatal(err)
	}
	if !sendsDescriptors("/proc/self") {
		t.Error("a descriptor that was sent is not noticed")
	}
}
