//go:build !linux

package idmap

import "runtime"

// Clone always fails here: only Linux has mounts that show other owners.
func Clone(source, _ string, _ View) error { return missing(source) }

// Supported always fails here.
func Supported(dir string) error { return missing(dir) }

// Unmount has nothing to do here.
func Unmount(string) error { return nil }

// UnmountBelow has nothing to do here.
func UnmountBelow(string) error { return nil }

func missing(path string) error {
	return &UnsupportedError{Path: path, Reason: runtime.GOOS + " has no such mounts"}
}
