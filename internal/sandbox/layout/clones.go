package layout

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// Nobody is a user and group of the host that nobody has: it lies above all
// ranges that systems hand out, to users, to their containers (from 100000 on) or
// to services. When ralph is root, an agent that shares the host's kernel is this
// one there.
const Nobody = 1_900_001_000

// Clone is to show a mount's source at a place of the sandbox's, as if Nobody
// owned what its owner does; see package idmap.
type Clone struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"read_only"`
}

// Clones plans a clone for each of the user's mounts, makes an empty place for it
// in dir, and returns the mounts as they are made from the clones. The engine has
// to make them, and to unmount them before dir is deleted.
func Clones(dir string, spec sandbox.Spec, mounts []Mount) ([]Clone, []Mount, error) {
	var clones []Clone
	for i, m := range spec.Mounts {
		place, err := Place(dir, m.Source, strconv.Itoa(i))
		if err != nil {
			return nil, nil, err
		}
		clones = append(clones, Clone{m.Source, place, m.ReadOnly})
	}
	cloned := make([]Mount, len(mounts))
	for i, m := range mounts {
		if m.User {
			m.Source = inClone(m, spec.Mounts, clones)
		}
		cloned[i] = m
	}
	return clones, cloned, nil
}

// Place makes an empty folder or file in dir for a mount of source to cover.
func Place(dir, source, name string) (string, error) {
	info, err := os.Stat(source)
	if err != nil {
		return "", fmt.Errorf("mounting %s: %w", source, err)
	}
	place := filepath.Join(dir, name)
	if info.IsDir() {
		err = os.Mkdir(place, 0o700)
	} else {
		err = os.WriteFile(place, nil, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("mounting %s: %w", source, err)
	}
	return place, nil
}

// inClone is where the source of a mount is in a clone: that of the entry of the
// mount map it belongs to, and not of another one that shows the same files. The
// entry is the one that has the mount's source at the mount's place.
func inClone(m Mount, entries []sandbox.Mount, clones []Clone) string {
	for i, entry := range entries {
		rel, err := filepath.Rel(entry.Source, m.Source)
		if err == nil && filepath.IsLocal(rel) && filepath.Join(entry.Target, rel) == filepath.FromSlash(m.Target) {
			return filepath.Join(clones[i].Target, rel)
		}
	}
	return m.Source
}
