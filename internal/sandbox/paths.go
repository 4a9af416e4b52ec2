package sandbox

import (
	"path/filepath"
	"slices"
)

// Within reports whether path is dir or lies below it.
func Within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Overlap reports whether one of two folders is the other or lies below it.
func Overlap(a, b string) bool { return Within(a, b) || Within(b, a) }

// FoldersAbove returns the folders on the way to a relative path, topmost first.
func FoldersAbove(path string) []string {
	var dirs []string
	for dir := filepath.Dir(path); dir != "."; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}
