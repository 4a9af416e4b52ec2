package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Import is what came home in one go.
type Import struct {
	From, To  string   // the tip before and after
	Commits   []string // new ones, oldest first
	Files     int      // that differ between the two
	Rewritten int      // commits that had to be mended: their identity or trailers
	Protected []string // paths that changed since the base and that the host would obey
	Links     []string // paths that became references to other repositories since the base
	Held      string   // why the user's branch was not moved; empty: it was
}

const (
	importTimeout = 5 * time.Minute
	maxCommits    = 10_000 // of one import
	maxObjects    = 2_000_000
	allocMore     = 16 << 20 // that git may use at once beside the largest file
)

// Import takes what the command of Collect printed in iteration n, which may be
// anything. A *BadImportError means that nothing was taken. protected tells which
// paths the host would obey.
func (s *Store) Import(ctx context.Context, from io.Reader, n int, protected func(path string) bool) (Import, error) {
	limited, cancel := context.WithTimeout(ctx, importTimeout)
	defer cancel()
	found, err := s.importAll(limited, from, n, protected)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return Import{}, bad("looking at them takes more than %v", importTimeout)
	}
	return found, err
}

func (s *Store) importAll(ctx context.Context, from io.Reader, n int, protected func(path string) bool) (Import, error) {
	in := bufio.NewReaderSize(from, maxHeaderLine)
	head, err := readHeader(in, s.Repo.Format, s.Branch)
	if err != nil {
		return Import{}, err
	}
	q, err := s.newQuarantine()
	if err != nil {
		return Import{}, err
	}
	defer q.remove()
	if head.pack {
		if err := q.take(ctx, in); err != nil {
			return Import{}, err
		}
	}
	return q.admit(ctx, head.tip, n, protected)
}

// quarantine holds objects that nobody has looked at yet.
type quarantine struct {
	*Store
	dir  string
	anew map[string]string // refs of commits that were written anew
}

func (s *Store) newQuarantine() (*quarantine, error) {
	dir, err := os.MkdirTemp(s.Dir, "incoming-")
	if err == nil {
		err = os.MkdirAll(filepath.Join(dir, "pack"), 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("making a quarantine: %w", err)
	}
	return &quarantine{Store: s, dir: dir}, nil
}

func (q *quarantine) remove() { _ = os.RemoveAll(q.dir) }

// call is a git that writes to the quarantine and reads the store as well.
func (q *quarantine) call(args ...string) call {
	c := q.Store.call(args...)
	c.env = objectEnv(q.dir, q.Objects())
	return c
}

// take unpacks a pack into the quarantine and has every object checked.
func (q *quarantine) take(ctx context.Context, pack io.Reader) error {
	c := q.call("index-pack", "--stdin", "--fix-thin", "--strict", "--threads=1")
	c.env = append(c.env, fmt.Sprintf("GIT_ALLOC_LIMIT=%d", q.MaxFile+allocMore))
	c.stdin, c.stdout = pack, io.Discard
	return hostile(q.git.run(ctx, c))
}

// hostile turns what git says about objects into the reason why they are not taken.
func hostile(err error) error {
	var failed *CommandError
	var long *TooLongError
	switch {
	case errors.As(err, &failed):
		return bad("%s", plainLine(failed.Error()))
	case errors.As(err, &long):
		return bad("they hold too many files: %v", err)
	}
	return err
}

// plainLine is the last line of what git said, which names files of the agent's.
func plainLine(text string) string {
	lines := strings.Split(strings.TrimSpace(plain(text)), "\n")
	return strings.TrimPrefix(lines[0], "fatal: ")
}

// admit checks what is in the quarantine and takes it over.
func (q *quarantine) admit(ctx context.Context, tip string, n int, protected func(string) bool) (Import, error) {
	home, err := q.Tip(ctx)
	if err != nil {
		return Import{}, err
	}
	if err := q.checkObjects(ctx, tip); err != nil {
		return Import{}, err
	}
	if err := q.descends(ctx, tip); err != nil {
		return Import{}, err
	}
	if err := q.checkShapes(ctx, tip); err != nil {
		return Import{}, err
	}
	found := Import{From: home}
	if err := q.checkNames(ctx, tip, protected, &found); err != nil {
		return Import{}, err
	}
	if err := q.checkSize(ctx, tip); err != nil {
		return Import{}, err
	}
	commits, err := q.newCommits(ctx, tip)
	if err != nil {
		return Import{}, err
	}
	if err := q.checkPast(ctx, commits); err != nil {
		return Import{}, err
	}
	if err := q.conform(ctx, tip, commits, n, &found); err != nil {
		return Import{}, err
	}
	if found.Files, err = q.countFiles(ctx, home, found.To); err != nil {
		return Import{}, err
	}
	if err := q.keep(ctx, tip, found.To); err != nil {
		return Import{}, err
	}
	found.Held, err = q.Publish(ctx)
	return found, err
}

// checkObjects makes sure that the tip is a commit, nothing is missing, and nothing too
// large.
func (q *quarantine) checkObjects(ctx context.Context, tip string) error {
	kind, err := q.git.line(ctx, q.call("cat-file", "-t", tip))
	if err != nil {
		return hostile(err)
	}
	if kind != "commit" {
		return bad("%s is a %s and no commit", short(tip), kind)
	}
	list := q.call("rev-list", "--objects", "--no-object-names", tip, "--not", q.Base, refSandbox, refHome)
	out, err := q.git.output(ctx, list)
	if err != nil {
		return hostile(err)
	}
	if objects := strings.Count(string(out), "\n"); objects > maxObjects {
		return bad("they hold %d objects, more than %d", objects, maxObjects)
	}
	sizes := q.call("cat-file", "--batch-check=%(objecttype) %(objectsize) %(objectname)")
	sizes.stdin = strings.NewReader(string(out))
	if out, err = q.git.output(ctx, sizes); err != nil {
		return hostile(err)
	}
	for line := range strings.Lines(string(out)) {
		var kind, name string
		var size int64
		if _, err := fmt.Sscan(line, &kind, &size, &name); err != nil {
			return bad("object %s is missing", plainLine(line))
		}
		if size > q.MaxFile {
			return bad("%s %s has %d bytes, more than %d; git.max_file says how many there may be", kind, short(name), size, q.MaxFile)
		}
	}
	return nil
}

// checkSize makes sure that a checkout fits on the disk: the same object can be many
// files.
func (q *quarantine) checkSize(ctx context.Context, tip string) error {
	if q.MaxTree <= 0 {
		return nil
	}
	out, err := q.git.output(ctx, q.call("ls-tree", "-r", "--full-tree", "--format=%(objectsize)", tip))
	if err != nil {
		return hostile(err)
	}
	total := int64(0)
	for line := range strings.Lines(string(out)) {
		size, _ := strconv.ParseInt(strings.TrimSpace(line), 10, 64) // a submodule has none
		if total += size; total > q.MaxTree {
			return bad("the files of %s have more than %d bytes together", short(tip), q.MaxTree)
		}
	}
	return nil
}

// descends makes sure that the work builds on the base: a history without it would
// have nothing in common with the user's.
func (q *quarantine) descends(ctx context.Context, tip string) error {
	err := q.git.run(ctx, q.call("merge-base", "--is-ancestor", q.Base, tip))
	if saidNo(err) {
		return bad("the branch does not build on %s any more, the commit that the run began with", short(q.Base))
	}
	return hostile(err)
}

func (q *quarantine) countFiles(ctx context.Context, from, to string) (int, error) {
	out, err := q.git.output(ctx, q.call("diff-tree", "-r", "-z", "--no-renames", "--name-only", from, to))
	return strings.Count(string(out), "\x00"), hostile(err)
}

// keep moves what is reachable from the tips into the store. Whatever else was in
// the quarantine is forgotten.
func (q *quarantine) keep(ctx context.Context, tip, home string) error {
	if err := q.pack(ctx, q.call(), filepath.Join(q.Objects(), "pack"), []string{tip, home}, []string{q.Base, refSandbox, refHome}); err != nil {
		return err
	}
	refs := map[string]string{refSandbox: tip, refHome: home}
	maps.Copy(refs, q.anew)
	return q.setRefs(ctx, refs)
}

// pack writes a pack of what is reachable from some commits and not from others.
// No pack is made of nothing.
func (s *Store) pack(ctx context.Context, c call, folder string, with, without []string) error {
	var revs strings.Builder
	for _, commit := range with {
		fmt.Fprintln(&revs, commit)
	}
	for _, commit := range without {
		fmt.Fprintln(&revs, "^"+commit)
	}
	c.args = slices.Concat(c.args, []string{"pack-objects", "--quiet", "--revs", "--non-empty", "--delta-base-offset", filepath.Join(folder, "pack")})
	c.stdin, c.stdout = strings.NewReader(revs.String()), io.Discard
	if err := s.git.run(ctx, c); err != nil {
		return fmt.Errorf("keeping the objects: %w", err)
	}
	return nil
}
