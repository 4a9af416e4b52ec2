package idmap

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLayers is how many mounts on one place are taken off before giving up.
const maxLayers = 64

// Unmount takes off everything that is mounted on target itself, also when it is in
// use. It is no error if nothing is, or if target is not there.
func Unmount(target string) error {
	for range maxLayers {
		err := unix.Unmount(target, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		switch {
		case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
			return nil
		case errors.Is(err, unix.EINVAL) && !isMount(target):
			return nil
		case err != nil:
			return fmt.Errorf("unmounting %s: %w", target, err)
		}
	}
	return fmt.Errorf("unmounting %s: more than %d mounts", target, maxLayers)
}

// isMount tells a mount that cannot be taken off, because it came with the mount
// namespace, from a plain folder: the kernel's error is the same for both.
func isMount(path string) bool {
	var stat unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, 0, &stat)
	return err == nil && stat.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}

// UnmountBelow takes off everything that is mounted on dir or below it, whoever
// mounted it. Only when it returns no error may the folder be deleted: through a
// mount that was left, the user's own files would be. A link is not followed: where
// it leads, the mounts are somebody else's, and who deletes it deletes it alone.
func UnmountBelow(dir string) error {
	real, err := realFolder(dir)
	if err != nil || real == "" {
		return err
	}
	for range maxLayers { // a mount can hide others
		places, err := mountsBelow(real)
		if err != nil || len(places) == 0 {
			return err
		}
		for i := len(places) - 1; i >= 0; i-- { // the latest first: it is on top
			if err := Unmount(places[i]); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("unmounting all below %s: new mounts keep coming", dir)
}

// realFolder is dir without links on the way to it, as the kernel lists mounts. It is
// empty if dir is not there, or is itself a link.
func realFolder(dir string) (string, error) {
	above, err := filepath.EvalSymlinks(filepath.Dir(filepath.Clean(dir)))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("looking for mounts: %w", err)
	}
	real := filepath.Join(above, filepath.Base(dir))
	info, err := os.Lstat(real)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("looking for mounts: %w", err)
	case info.Mode()&os.ModeSymlink != 0:
		return "", nil
	}
	return real, nil
}

// mountsBelow lists the mounts on dir and below it in the order they were made.
func mountsBelow(dir string) ([]string, error) {
	f, err := os.Open("/proc/thread-self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("looking for mounts: %w", err)
	}
	defer f.Close()
	all, err := mountPoints(f)
	if err != nil {
		return nil, fmt.Errorf("looking for mounts: %w", err)
	}
	var below []string
	for _, place := range all {
		if rel, err := filepath.Rel(dir, place); err == nil && filepath.IsLocal(rel) {
			below = append(below, place)
		}
	}
	return below, nil
}

// mountPoints reads where things are mounted from a mountinfo file.
func mountPoints(r io.Reader) ([]string, error) {
	var places []string
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		// Only blanks divide fields: other white space stands in a path as it is.
		fields := strings.Split(lines.Text(), " ")
		if len(fields) < 5 {
			return nil, fmt.Errorf("a line of mountinfo has %d fields", len(fields))
		}
		places = append(places, unescape(fields[4]))
	}
	return places, lines.Err()
}

// unescape undoes what the kernel does to blanks and backslashes in a path: three
// octal digits each.
func unescape(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '\\' && i+3 < len(path) {
			if c, err := strconv.ParseUint(path[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(path[i])
	}
	return b.String()
}
