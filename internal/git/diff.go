package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// DiffOptions say how a difference is shown. By default it is a patch that git apply
// takes, of binary files too.
type DiffOptions struct {
	Stat      bool     // how much of each file
	NamesOnly bool     // a line with the path of each file
	Color     bool     // for terminals; what is in the files is not made safe for them
	Paths     []string // files and folders, from the top; none: all
	Max       int      // bytes that may be written; 0: 256 MB
}

const (
	maxDiff    = 256 << 20
	maxListed  = 200 // columns of a subject or a name in a list
	emptyTree1 = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	emptyTree2 = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
)

// Diff writes how two commits or trees of the store differ. Nothing in them decides
// how: attributes, which could make a program's text binary, do not count. Files that
// moved without a change are shown as moved, all others one by one.
func (s *Store) Diff(ctx context.Context, w io.Writer, from, to string, o DiffOptions) error {
	args := []string{
		"diff-tree", "-r", "--no-ext-diff", "--no-textconv", "--submodule=short", "--ignore-submodules=none",
		"--no-relative", "--src-prefix=a/", "--dst-prefix=b/",
	}
	for _, name := range []string{from, to} {
		tree, err := s.object(ctx, name, "tree")
		if err != nil {
			return err
		}
		args = append(args, tree)
	}
	c := s.call(append(append(append(args, o.flags()...), "--"), o.Paths...)...)
	out := &capped{to: w, left: cmp.Or(o.Max, maxDiff)}
	c.stdout = out
	c.env = append(configEnv(append(closedConfig(), [2]string{"core.quotePath", "false"})), "GIT_LITERAL_PATHSPECS=1", "GIT_ATTR_SOURCE="+s.emptyTree())
	err := s.git.run(ctx, c)
	if out.err != nil {
		err = out.err // git failed because of it
	}
	if err != nil {
		return fmt.Errorf("comparing %s and %s: %w", short(from), short(to), err)
	}
	return nil
}

func (o DiffOptions) flags() []string {
	color := "--no-color"
	if o.Color {
		color = "--color=always"
	}
	switch {
	case o.NamesOnly:
		return []string{"--name-only", "--no-renames", color}
	case o.Stat:
		return []string{"--stat=100", "--find-renames=100%", color}
	}
	return []string{"--patch", "--binary", "--full-index", "--find-renames=100%", color}
}

// emptyTree is the name of a tree without anything, which git knows without having it.
func (s *Store) emptyTree() string {
	if s.Repo.Format == "sha256" {
		return emptyTree2
	}
	return emptyTree1
}

// object returns the name of a commit, or of its tree, which the store must have.
func (s *Store) object(ctx context.Context, name, kind string) (string, error) {
	object, err := s.git.line(ctx, s.call("rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{"+kind+"}"))
	var failed *CommandError
	if errors.As(err, &failed) {
		return "", fmt.Errorf("the run has no commit %s", plain(name))
	}
	return object, err
}

// capped passes on as much as it may. What is more is an error.
type capped struct {
	to   io.Writer
	left int
	err  error
}

func (c *capped) Write(data []byte) (int, error) {
	if c.err == nil && len(data) > c.left {
		c.err = errors.New("they differ by more than can be shown; name some paths, or ask for the names alone")
	}
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.to.Write(data)
	c.left, c.err = c.left-n, err
	return n, err
}

// CommitInfo is a commit in a list. All of it is safe to show.
type CommitInfo struct {
	Hash, Subject, Author string
	When                  time.Time
}

// Commits lists the commits that one has and another has not, oldest first; of very
// many the newest.
func (s *Store) Commits(ctx context.Context, from, to string) ([]CommitInfo, error) {
	from, err1 := s.object(ctx, from, "commit")
	to, err2 := s.object(ctx, to, "commit")
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	format := fmt.Sprintf("--format=%%H%%x00%%at%%x00%%<(%d,trunc)%%an%%x00%%<(%d,trunc)%%s", maxListed, maxListed)
	out, err := s.git.output(ctx, s.call("log", "-z", "--topo-order", "--reverse", "--max-count="+strconv.Itoa(maxCommits),
		"--no-show-signature", "--no-mailmap", "--no-notes", "--no-color", "--encoding=UTF-8", format, to, "^"+from, "--"))
	if err != nil {
		return nil, fmt.Errorf("listing the commits up to %s: %w", short(to), err)
	}
	fields := splitNul(string(out))
	var commits []CommitInfo
	for i := 0; i+4 <= len(fields); i += 4 {
		seconds, _ := strconv.ParseInt(fields[i+1], 10, 64)
		commits = append(commits, CommitInfo{
			Hash: fields[i], When: time.Unix(seconds, 0).UTC(),
			Author: plain(strings.TrimSpace(fields[i+2])), Subject: plain(strings.TrimSpace(fields[i+3])),
		})
	}
	return commits, nil
}
