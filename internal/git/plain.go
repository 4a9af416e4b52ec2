package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// checkPlain refuses a git directory in which something is a link, a pipe or a device: a
// download could lead ralph, and the git that it runs, to files of other repositories,
// have it wait for ever, or have it write where it should not.
func (r *Repository) checkPlain() error {
	for _, name := range []string{"HEAD", "config", "packed-refs", "shallow", "objects", "refs", "logs"} {
		if err := plainBelow(filepath.Join(r.Common, name)); err != nil {
			return err
		}
	}
	if r.Dir == r.Common {
		return nil
	}
	for _, name := range []string{"HEAD", "commondir", "gitdir", "config.worktree", "index", "logs"} {
		if err := plainBelow(filepath.Join(r.Dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// plainBelow looks at a path and everything in it. What is not there is fine.
func plainBelow(path string) error {
	return filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return refuse(at, err.Error(), "check its permissions")
		case !e.IsDir() && !e.Type().IsRegular():
			return refuse(at, "it is a link or no plain file", "replace it with what it leads to")
		}
		return nil
	})
}

// isRealFolder tells whether a folder is one itself, and not a link to one.
func isRealFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
