package layout

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// mountMap is what the user shows of the host.
func (k *skeleton) mountMap(spec sandbox.Spec) ([]Mount, error) {
	var mounts []Mount
	for _, m := range spec.Mounts {
		info, err := os.Stat(m.Source)
		if err != nil {
			return nil, fmt.Errorf("mounting %s: %w", m.Source, err)
		}
		if spec.Image == "" && !insideOther(m, spec) {
			if err := k.mountPoint(m.Target, info.IsDir()); err != nil {
				return nil, err
			}
		}
		more, err := userMounts(m, ownerOf(info))
		if err != nil {
			return nil, err
		}
		mounts = append(mounts, more...)
	}
	return mounts, nil
}

// userMounts is one entry of the mount map, with its protected paths laid over
// it read-only. The folders on the way to a protected path are mounted too: the
// kernel refuses to rename a mount point, so no folder can be swapped for one
// with other contents.
func userMounts(m sandbox.Mount, owner sandbox.User) ([]Mount, error) {
	part := func(name string, readOnly bool) Mount {
		return Mount{
			Kind: Bind, Source: filepath.Join(m.Source, name), Target: path.Join(m.Target, filepath.ToSlash(name)),
			ReadOnly: readOnly, User: true, Owner: owner,
		}
	}
	mounts := []Mount{part(".", m.ReadOnly)}
	pinned := map[string]bool{}
	for _, name := range m.Protect {
		if !filepath.IsLocal(name) {
			return nil, fmt.Errorf("protecting %s: it does not lie in the mount", name)
		}
		if covered(name, m.Protect) {
			continue
		}
		for _, dir := range sandbox.FoldersAbove(name) {
			if !pinned[dir] {
				pinned[dir] = true
				mounts = append(mounts, part(dir, m.ReadOnly))
			}
		}
		protected := part(name, true)
		protected.Empty = isEmpty(protected.Source)
		mounts = append(mounts, protected)
	}
	return mounts, nil
}

// isEmpty recognises stand-ins.
func isEmpty(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.IsDir() {
		return err == nil && info.Size() == 0
	}
	_, err = f.Readdirnames(1)
	return errors.Is(err, io.EOF)
}

// covered reports whether a folder above path is protected as a whole.
func covered(path string, protect []string) bool {
	return slices.ContainsFunc(sandbox.FoldersAbove(path), func(dir string) bool { return slices.Contains(protect, dir) })
}

// insideOther reports whether a mount lies in another one of the user's, which
// must then hold the mount point.
func insideOther(m sandbox.Mount, spec sandbox.Spec) bool {
	return slices.ContainsFunc(spec.Mounts, func(other sandbox.Mount) bool {
		return other.Target != m.Target && sandbox.Within(m.Target, other.Target)
	})
}
