package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

const (
	treeFiles = 10_000 // of a repository
	tarFiles  = 5_000  // of an archive
)

// files is work on many small files, in the workspace: the worst case of a sandbox
// that checks every call.
func (s *site) files() []measure {
	tree, archive := sync.OnceValues(s.makeTree), sync.OnceValues(s.makeArchive)
	return []measure{
		{what: "`git status`, 10,000 files", show: showTime, goal: goalFiles, rounds: 7, warmUp: true, sample: timed(func(c *contender) error {
			return s.gitStatus(c, tree)
		})},
		{what: "`find` and `cat`, the same files", show: showTime, goal: goalFiles, rounds: 5, warmUp: true, sample: timed(func(c *contender) error {
			return s.inTree(c, tree, "sh", "-c", "find . -path ./.git -prune -o -type f -print0 | xargs -0 cat >/dev/null")
		})},
		{what: "unpack 5,000 files, in the workspace", show: showTime, goal: goalFiles, rounds: 3, warmUp: true, sample: timed(func(c *contender) error {
			dir, err := s.folder(c)
			if err != nil {
				return err
			}
			return s.unpack(c, archive, dir)
		})},
		{what: "the same in the sandbox's own `/tmp`, which is memory", show: showTime, rounds: 3, warmUp: true, sample: timed(func(c *contender) error {
			if c.isHost() {
				return s.unpack(c, archive, s.base)
			}
			return s.unpack(c, archive, "/tmp")
		})},
	}
}

func (s *site) inTree(c *contender, tree func() (string, error), args ...string) error {
	dir, err := tree()
	if err != nil {
		return err
	}
	return s.do(c, dir, args...)
}

// gitStatus has an index for each contender: it holds the owner of each file, who
// is another one inside, and git would read all files again after every change of
// turns.
func (s *site) gitStatus(c *contender, tree func() (string, error)) error {
	dir, err := s.folder(c)
	if err != nil {
		return err
	}
	index := filepath.Join(dir, "index")
	script := "[ -e " + index + " ] || cp .git/index " + index + "; GIT_INDEX_FILE=" + index + " git status --short"
	return s.inTree(c, tree, "sh", "-c", script)
}

// makeTree is a repository of Go's own sources.
func (s *site) makeTree() (string, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return "", err
	}
	tree := filepath.Join(s.work, "tree")
	if err := copySome(tree, filepath.Join(s.goRoot, "src"), treeFiles); err != nil {
		return "", fmt.Errorf("copying sources: %w", err)
	}
	identity := []string{"-c", "user.name=b", "-c", "user.email=b@example.com"}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, append(identity, "commit", "-qm", "all")} {
		if err := s.host(tree, append([]string{"git"}, args...)...); err != nil {
			return "", err
		}
	}
	return tree, nil
}

// copySome copies the first files of a folder.
func copySome(to, from string, count int) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if count--; count < 0 {
			return fs.SkipAll
		}
		data, err := os.ReadFile(path)
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		return errors.Join(err, os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, data, 0o644))
	})
}

// unpack takes a new folder each time. On ext4 it takes longer and longer to create
// files where others were deleted within the last five seconds.
func (s *site) unpack(c *contender, archive func() (string, error), dir string) error {
	file, err := archive()
	if err != nil {
		return err
	}
	return s.do(c, dir, "sh", "-c", "tar xf "+file+" -C $(mktemp -d out-XXXXXX)")
}

// makeArchive is many small files.
func (s *site) makeArchive() (string, error) {
	path := filepath.Join(s.work, "small.tar")
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	w := tar.NewWriter(f)
	text := make([]byte, 500)
	for i := range tarFiles {
		header := &tar.Header{Name: fmt.Sprintf("%03d/%05d.txt", i/100, i), Mode: 0o644, Size: int64(len(text))}
		if err := w.WriteHeader(header); err != nil {
			return "", err
		}
		if _, err := w.Write(text); err != nil {
			return "", err
		}
	}
	return path, w.Close()
}
