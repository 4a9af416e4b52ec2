package git

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
)

// A few objects can stand for more files than any disk holds, since a folder can be in
// many places at once. Git comes upon each of them: what compares or checks out such a
// commit takes all time and memory. So the files are counted first, without a look at
// any folder twice.

const (
	maxDepth     = 256       // folders within folders
	maxPathBytes = maxOutput // of all paths together
	maxTrees     = 1_000_000
)

// shape is how large a folder is with all in it. A number that is too large does not
// grow any further.
type shape struct {
	paths   int64 // files and folders
	bytes   int64 // of all paths
	longest int64 // bytes of the longest one
	depth   int64
}

// folder is what a tree object holds.
type folder struct {
	shape // of what is in it, and not further below
	below []subfolder
	whole *shape // with all below; nil: that is not known yet
}

type subfolder struct {
	object string
	name   int64 // bytes of it
}

// checkShapes refuses commits whose files nobody could look through: all that are new,
// since a person may look at any of them.
func (q *quarantine) checkShapes(ctx context.Context, tip string) error {
	out, err := q.git.output(ctx, q.call("rev-list", "--no-commit-header", "--format=%T", tip, "--not", q.Base, refSandbox, refHome))
	if err != nil {
		return hostile(err)
	}
	roots := strings.Fields(string(out))
	slices.Sort(roots)
	roots = slices.Compact(roots)
	folders, err := q.readFolders(ctx, roots)
	if err != nil {
		return err
	}
	for _, root := range roots {
		switch s := folders.shapeOf(root, 0); {
		case s.depth > maxDepth:
			return bad("folders are more than %d deep", maxDepth)
		case s.paths > maxPaths:
			return bad("they hold more than %d paths", maxPaths)
		case s.longest > maxPath:
			return bad("a path has more than %d bytes", maxPath)
		case s.bytes > maxPathBytes:
			return bad("the paths have more than %d bytes together", maxPathBytes)
		}
	}
	return nil
}

type folders map[string]*folder

// readFolders reads trees and all below them, each once, those of a level in one go.
func (q *quarantine) readFolders(ctx context.Context, roots []string) (folders, error) {
	all := folders{}
	level := roots
	for range maxDepth + 1 {
		if len(level) == 0 {
			return all, nil
		}
		c := q.call("cat-file", "--batch")
		c.stdin = strings.NewReader(strings.Join(level, "\n") + "\n")
		out, err := q.git.output(ctx, c)
		if err != nil {
			return nil, hostile(err)
		}
		if level, err = all.add(level, out, q.nameBytes()); err != nil {
			return nil, err
		}
		if len(all) > maxTrees {
			return nil, bad("they hold more than %d folders", maxTrees)
		}
	}
	return nil, bad("folders are more than %d deep", maxDepth)
}

// nameBytes is how long the name of an object is within a tree.
func (s *Store) nameBytes() int {
	if s.Repo.Format == "sha256" {
		return 32
	}
	return 20
}

// add takes what cat-file printed of some trees, and returns those below that are not
// known yet.
func (all folders) add(asked []string, out []byte, nameBytes int) (next []string, err error) {
	for _, name := range asked {
		head, rest, _ := bytes.Cut(out, []byte("\n"))
		var object, kind string
		var size int
		if _, err := fmt.Sscan(string(head), &object, &kind, &size); err != nil || kind != "tree" || size < 0 || size >= len(rest) {
			return nil, bad("folder %s is none", short(name))
		}
		f, ok := parseTree(rest[:size], nameBytes)
		if !ok {
			return nil, bad("folder %s cannot be read", short(name))
		}
		all[name], out = f, rest[size+1:]
	}
	seen := map[string]bool{}
	for _, name := range asked {
		for _, sub := range all[name].below {
			if all[sub.object] == nil && !seen[sub.object] {
				seen[sub.object] = true
				next = append(next, sub.object)
			}
		}
	}
	return next, nil
}

// parseTree reads a tree object: mode, name and object of one entry after the other.
func parseTree(data []byte, nameBytes int) (*folder, bool) {
	f := &folder{}
	for len(data) > 0 {
		mode, rest, ok1 := bytes.Cut(data, []byte(" "))
		name, rest, ok2 := bytes.Cut(rest, []byte{0})
		if !ok1 || !ok2 || len(rest) < nameBytes {
			return nil, false
		}
		object := fmt.Sprintf("%x", rest[:nameBytes])
		data = rest[nameBytes:]
		long := int64(len(name))
		f.paths, f.bytes, f.longest = f.paths+1, f.bytes+long, max(f.longest, long)
		if string(mode) == "40000" || string(mode) == "040000" {
			f.below = append(f.below, subfolder{object, long})
		}
	}
	return f, true
}

// shapeOf is that of a folder with all below. How many are above it tells when to give
// up: nothing that is deeper is taken.
func (all folders) shapeOf(name string, above int64) shape {
	f := all[name]
	if f == nil || above > maxDepth {
		return shape{depth: above}
	}
	if f.whole != nil {
		return *f.whole
	}
	s := f.shape
	s.depth = 1
	for _, sub := range f.below {
		in := all.shapeOf(sub.object, above+1)
		s.depth = max(s.depth, in.depth+1)
		s.longest = max(s.longest, sub.name+1+in.longest)
		s.bytes = min(s.bytes+in.bytes+in.paths*(sub.name+1), maxPathBytes+1)
		s.paths = min(s.paths+in.paths, maxPaths+1)
	}
	f.whole = &s
	return s
}
