package workspace

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-loop/ralph/internal/sandbox"
)

const (
	// maxFiles bounds the search for git directories.
	maxFiles = 1 << 20
	// maxRepositories bounds what can be mounted read-only one by one.
	maxRepositories = 256
	// maxGitFile is more than the git files that are read here ever hold.
	maxGitFile = 1 << 20
)

// gitSearch finds what the host's git obeys in a workspace beside the top-level
// .git itself: nested repositories, bare ones, git directories that a .git file
// points to, and folders and files that their configuration names.
type gitSearch struct {
	root  *os.Root
	whole []string // paths that are protected with all they hold
	files int
	links linkCount
	found []string
}

// findGit returns what it found, and the number of files that are linked from
// outside.
func findGit(ctx context.Context, root *os.Root, whole []string) (found []string, linked int, err error) {
	s := &gitSearch{root: root, whole: whole}
	err = sandbox.Walk(ctx, root.Name(), sandbox.Visitor{Visit: s.visit, Unreadable: s.unreadable})
	if err != nil {
		return nil, 0, fmt.Errorf("looking for git directories: %w", err)
	}
	if len(s.found) > maxRepositories {
		return nil, 0, refuseWorkspace(fmt.Sprintf("it holds more than %d git directories", maxRepositories), "work on a smaller folder")
	}
	return s.found, s.links.outside(), nil
}

func (s *gitSearch) visit(path string, info fs.FileInfo) (enter bool, err error) {
	if s.files++; s.files > maxFiles {
		return false, refuseWorkspace(fmt.Sprintf("it holds more than %d files, too many to look for git directories", maxFiles), "work on a smaller folder")
	}
	s.links.see(info)
	path = filepath.FromSlash(path)
	if path != ".git" && slices.Contains(s.whole, path) {
		return false, nil
	}
	if info.Mode().IsRegular() && info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		// Whoever runs it on the host gets its owner's rights, whatever is in it, and
		// writing through mapped memory leaves the bit where it is.
		s.found = append(s.found, path)
	}
	switch dir := filepath.Dir(path); filepath.Base(path) {
	case ".git":
		return false, s.dotGit(path, info)
	case "HEAD":
		if info.Mode().IsRegular() && dir != "." && s.isDir(dir, "objects") && s.isDir(dir, "refs") {
			s.gitDir(dir, dir)
		}
	}
	return true, nil
}

// unreadable refuses a folder in which git directories could hide: it may be
// the agent's to enter although we cannot list it.
func (s *gitSearch) unreadable(path string, err error) error {
	if !mayEnter(filepath.Join(s.root.Name(), path)) {
		return nil // nor can the agent
	}
	return refuseWorkspace(fmt.Sprintf("%s in it cannot be searched for git directories (%v)", path, err),
		"chmod u+rx "+filepath.Join(s.root.Name(), path))
}

// dotGit protects a .git folder, or a .git file and the folder it points to.
func (s *gitSearch) dotGit(path string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		s.gitDir(path, filepath.Dir(path))
	case info.Mode().IsRegular():
		s.add(path)
		if to, ok := strings.CutPrefix(s.read(path), "gitdir:"); ok {
			s.gitDir(s.inside(filepath.Dir(path), strings.TrimSpace(to)), filepath.Dir(path))
		}
	default:
		return refuseUnprotectable(s.root.Name(), path)
	}
	return nil
}

// gitDir protects a git directory, and the paths in the workspace that its
// configuration has git obey. Relative hooks belong to the work tree, relative
// includes to the configuration file.
func (s *gitSearch) gitDir(dir, workTree string) {
	if dir == "" {
		return
	}
	s.add(dir)
	if common := strings.TrimSpace(s.read(filepath.Join(dir, "commondir"))); common != "" {
		s.gitDir(s.inside(dir, common), workTree)
	}
	section := ""
	for lines := bufio.NewScanner(strings.NewReader(s.read(filepath.Join(dir, "config")))); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(line)
		}
		key, value, _ := strings.Cut(line, "=")
		value = strings.Trim(strings.TrimSpace(value), `"`)
		switch key = strings.ToLower(strings.TrimSpace(key)); {
		case key == "hookspath":
			s.add(s.inside(workTree, value))
		case key == "path" && strings.HasPrefix(section, "[include"):
			s.add(s.inside(dir, value))
		}
	}
}

// add protects a path that exists. The top-level .git is protected anyway.
func (s *gitSearch) add(path string) {
	if path == "" || path == "." || path == ".git" || slices.Contains(s.found, path) {
		return
	}
	if info, err := s.root.Lstat(path); err == nil && (info.IsDir() || info.Mode().IsRegular()) {
		s.found = append(s.found, path)
	}
}

// inside resolves a path that git reads relative to dir, or returns "" when it
// does not lie in the workspace.
func (s *gitSearch) inside(dir, path string) string {
	if path == "" || strings.HasPrefix(path, "~") {
		return ""
	}
	if filepath.IsAbs(path) {
		rel, err := filepath.Rel(s.root.Name(), path)
		if err != nil {
			return ""
		}
		path, dir = rel, "."
	}
	if path = filepath.Join(dir, path); !filepath.IsLocal(path) {
		return ""
	}
	return path
}

// read returns the start of a file, or nothing.
func (s *gitSearch) read(path string) string {
	f, err := s.root.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(f, maxGitFile))
	if err != nil {
		return ""
	}
	return string(data)
}

func (s *gitSearch) isDir(dir, name string) bool {
	info, err := s.root.Lstat(filepath.Join(dir, name))
	return err == nil && info.IsDir()
}
