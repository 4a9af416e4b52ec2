package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/agent-loop/ralph/internal/config"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// cover hides the folders of runs that lie in a workspace, those of projects within
// it too: no sandbox sees a record, its own or another's.
type cover struct {
	workspace string
	roots     []string // none lies in another
}

// newCover finds the folders of runs in a workspace: where they are kept by default,
// where this user has started some, and those that are named.
func (w World) newCover(workspace string, cfg config.Config, named ...string) (cover, error) {
	roots, err := w.knownRoots(workspace)
	if err != nil {
		return cover{}, err
	}
	roots = append(roots, named...)
	for _, root := range rootsIn(workspace, cfg.Run.Folder) {
		roots = append(roots, root.path)
	}
	slices.Sort(roots)
	roots = slices.DeleteFunc(slices.Compact(roots), func(root string) bool { return !sandbox.Within(root, workspace) })
	return cover{workspace, slices.DeleteFunc(slices.Clone(roots), func(root string) bool {
		return slices.ContainsFunc(roots, func(other string) bool { return root != other && sandbox.Within(root, other) })
	})}, nil
}

// mounts lay an empty folder over each that exists.
func (c cover) mounts(nothing string) (mounts []sandbox.Mount) {
	for _, root := range c.roots {
		if info, err := os.Lstat(root); err == nil && info.IsDir() {
			mounts = append(mounts, sandbox.Mount{Source: nothing, Target: root, ReadOnly: true, Exclusive: true})
		}
	}
	return mounts
}

// pinned are the paths that keep the folders where they are: an agent that could
// move one away would see it in its next sandbox. What is in a .ralph is protected
// whole.
func (c cover) pinned() ([]string, error) {
	var paths []string
	for _, root := range c.roots {
		if above := filepath.Dir(root); filepath.Base(above) == recordFolder {
			root = above
		}
		path, err := filepath.Rel(c.workspace, root)
		if err != nil {
			return nil, fmt.Errorf("protecting the runs: %w", err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// hideRuns hides the runs in a workspace from a sandbox that belongs to none.
func (s *session) hideRuns(workspace string) error {
	c, err := s.world.newCover(workspace, s.config)
	if err != nil || len(c.roots) == 0 {
		return err
	}
	state, err := s.world.makeStateDir()
	if err != nil {
		return err
	}
	nothing := filepath.Join(state, coverFolder)
	if err := os.MkdirAll(nothing, 0o755); err != nil {
		return fmt.Errorf("making an empty folder: %w", err)
	}
	pinned, err := c.pinned()
	s.spec.Mounts = append(s.spec.Mounts, c.mounts(nothing)...)
	s.config.Sandbox.Protect = slices.Concat(s.config.Sandbox.Protect, pinned)
	return err
}
