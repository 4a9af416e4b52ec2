package project

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	maxDepth   = 2   // folders below the project's own: packages/web
	maxFolders = 200 // that are looked into
	maxParts   = 12  // that count
)

// Git says where a project's repository is.
type Git string

// The places a repository can be.
const (
	GitHere  Git = "here"
	GitAbove Git = "above" // the project is a folder of a larger repository
	GitNone  Git = "none"
)

// Project is what was found in a folder.
type Project struct {
	Name  string `json:"name"`
	Parts []Part `json:"parts"` // the folder's own first
	Git   Git    `json:"git"`
}

// Look looks at a folder.
func Look(dir string) (Project, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Project{}, fmt.Errorf("looking at the project: %w", err)
	}
	defer root.Close()
	top, err := openFolder(root, ".")
	if err != nil {
		return Project{}, fmt.Errorf("looking at the project: %w", err)
	}
	p := Project{Name: projectName(dir), Git: findGit(dir), Parts: partsOf(top)}
	p.Parts = append(p.Parts, p.below(top)...)
	if len(p.Parts) > maxParts {
		p.Parts = p.Parts[:maxParts]
	}
	if p.Parts == nil {
		p.Parts = []Part{}
	}
	return p, nil
}

// projectName is the folder's name, if it is one that can be shown.
func projectName(dir string) string {
	full, err := filepath.Abs(dir)
	if name := filepath.Base(full); err == nil && plainName().MatchString(name) {
		return name
	}
	return "project"
}

// findGit looks for .git here and above. A worktree's is a file.
func findGit(dir string) Git {
	full, err := filepath.Abs(dir)
	if err != nil {
		return GitNone
	}
	for at := full; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			if at == full {
				return GitHere
			}
			return GitAbove
		}
		if at == filepath.Dir(at) {
			return GitNone
		}
	}
}

// skipped are folders whose content is not the project's own, or only shows it.
var skipped = []string{
	"node_modules", "vendor", "target", "dist", "build", "out", "third_party", "testdata",
	"examples", "example", "fixtures", "venv", "env", "bin", "obj", "docs", "tmp", "coverage",
}

// below finds the parts in folders below, nearest first. What a folder above
// already is, in the same language, builds those below it too: workspaces.
func (p Project) below(top folder) []Part {
	var found []Part
	queue, looked := []folder{top}, 0
	for len(queue) > 0 && looked < maxFolders {
		f := queue[0]
		queue = queue[1:]
		for _, name := range f.dirs {
			if slices.Contains(skipped, name) || looked == maxFolders {
				continue
			}
			looked++
			sub, err := openFolder(f.root, path.Join(f.dir, name))
			if err != nil {
				continue // not readable: not of interest
			}
			found = append(found, uncovered(partsOf(sub), slices.Concat(p.Parts, found))...)
			if strings.Count(sub.dir, "/")+1 < maxDepth {
				queue = append(queue, sub)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Part) int { return cmp.Compare(a.Dir, b.Dir) })
	return found
}

// uncovered leaves out parts that one above of the same tool builds, and plain
// Makefiles, which below are most often somebody's helper.
func uncovered(parts, known []Part) []Part {
	return slices.DeleteFunc(parts, func(p Part) bool {
		return p.Tool == "make" || slices.ContainsFunc(known, func(k Part) bool { return k.covers(p) })
	})
}

func (p Part) covers(other Part) bool {
	family := func(tool string) string {
		switch tool {
		case "npm", "pnpm", "yarn", "bun":
			return "node"
		case "uv", "poetry", "pip":
			return "python"
		}
		return tool
	}
	inside := p.Dir == "." || strings.HasPrefix(other.Dir, p.Dir+"/")
	return inside && family(p.Tool) == family(other.Tool)
}
