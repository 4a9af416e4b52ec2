package loop

import (
	"context"
	"errors"
	"hash/maphash"
	"io/fs"
	"slices"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// maxFiles is how many files are told apart. More are known as one heap, which
// has changed or not.
const maxFiles = 200_000

// Tree is the folder that the agent works on, as far as the loop must know: which
// of its files change. It looks at names, sizes and times; nothing is opened.
type Tree struct {
	dir    string
	ignore []string // slash paths below it
	seed   maphash.Seed
	last   snapshot
}

// NewTree looks at a folder, without what is not the agent's work.
func NewTree(dir string, ignore ...string) *Tree {
	return &Tree{dir: dir, ignore: ignore, seed: maphash.MakeSeed()}
}

// snapshot is what the folder held at one time.
type snapshot struct {
	files map[uint64]uint64 // hash of the path -> of what is there
	heap  uint64            // of all others
}

// look scans the folder and remembers it. A nil Tree has nothing to look at.
func (t *Tree) look(ctx context.Context) (snapshot, error) {
	if t == nil {
		return snapshot{}, nil
	}
	s, err := t.scan(ctx)
	if err == nil {
		t.last = s
	}
	return s, err
}

func (t *Tree) scan(ctx context.Context) (snapshot, error) {
	s := snapshot{files: map[uint64]uint64{}}
	err := sandbox.Walk(ctx, t.dir, sandbox.Visitor{Visit: func(path string, info fs.FileInfo) (bool, error) {
		if slices.Contains(t.ignore, path) {
			return false, nil
		}
		if !info.IsDir() {
			s.add(maphash.String(t.seed, path), t.state(info))
		}
		return true, nil
	}})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // the agent may remove what it works on
	}
	return s, err
}

func (t *Tree) state(info fs.FileInfo) uint64 {
	return maphash.Comparable(t.seed, [3]int64{info.Size(), info.ModTime().UnixNano(), int64(info.Mode())})
}

func (s *snapshot) add(path, content uint64) {
	if len(s.files) < maxFiles {
		s.files[path] = content
		return
	}
	s.heap += path ^ content // in any order
}

// changes counts the files that were added, removed or changed since.
func (s snapshot) changes(now snapshot) int {
	changed, kept := 0, 0
	for path, content := range s.files {
		switch is, ok := now.files[path]; {
		case !ok:
			changed++
		case is != content:
			changed, kept = changed+1, kept+1
		default:
			kept++
		}
	}
	changed += len(now.files) - kept
	if s.heap != now.heap {
		changed++
	}
	return changed
}
