package layout

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// skeleton is the almost empty root file system of a sandbox, on the host. What
// is created in it goes through an os.Root: a copied link, or one that a user's
// root file system brings along, must not lead a write to the host's own files.
type skeleton struct{ root *os.Root }

func newSkeleton(dir string) (*skeleton, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("preparing the root: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("preparing the root: %w", err)
	}
	return &skeleton{root}, nil
}

// link copies a link of the host.
func (k *skeleton) link(source, target string) error {
	to, err := os.Readlink(source)
	if err != nil {
		return fmt.Errorf("reading the link %s: %w", source, err)
	}
	return k.symlink(to, target)
}

func (k *skeleton) symlink(to, target string) error {
	target = below(target)
	err := k.root.MkdirAll(path.Dir(target), 0o755)
	if err == nil {
		err = k.root.Symlink(to, target)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("preparing the root: %w", err)
	}
	return nil
}

// mountPoint makes an empty folder or file for a mount to cover. Engines would
// make it too, but not when the root is read-only to them.
func (k *skeleton) mountPoint(target string, isDir bool) error {
	if !isDir {
		return k.file(target, "")
	}
	if err := k.root.MkdirAll(below(target), 0o755); err != nil {
		return fmt.Errorf("preparing the mount point %s: %w", target, err)
	}
	return nil
}

// file creates a file. One that exists, or a link in its place, stays.
func (k *skeleton) file(target, text string) error {
	target = below(target)
	err := k.root.MkdirAll(path.Dir(target), 0o755)
	if err != nil {
		return fmt.Errorf("preparing the root: %w", err)
	}
	f, err := k.root.OpenFile(target, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("preparing %s: %w", target, err)
	}
	return nil
}

// below turns a path inside into one relative to the root.
func below(target string) string { return strings.TrimPrefix(path.Clean(target), "/") }
