package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	maxChanged   = 200 // trusted files that are told one by one
	specsAtOnce  = 100 // path patterns that one git is given
	commandBreak = " \t\r\n'\"`;&|()=<>"
)

// TrustedTree returns the tree of a commit in which every trusted file is as it is
// in the base, and which the agent therefore has no say in: those it changed or
// deleted are restored, those it added are gone, and whatever is in their way is
// gone too. changed tells what it had done to them: "M path", "D path", "A path".
//
// Patterns are git's, relative to the project; one without a slash holds in every
// folder, and one that names a folder for all in it. Case does not count, since the
// check may run where it does not count either. Of the words of the command those are
// trusted that name a file of the base; see [CommandFiles]. Where anything is trusted,
// every .gitattributes is: attributes change how files are written.
func (s *Store) TrustedTree(ctx context.Context, commit string, patterns, command []string) (tree string, changed []string, err error) {
	tree, changed, err = s.trustedTree(ctx, commit, patterns, command)
	if err != nil {
		return "", nil, fmt.Errorf("restoring the trusted files in %s: %w", short(commit), err)
	}
	return tree, changed, nil
}

func (s *Store) trustedTree(ctx context.Context, commit string, patterns, command []string) (tree string, changed []string, err error) {
	own, err := s.git.line(ctx, s.call("rev-parse", "--verify", "--end-of-options", commit+"^{tree}"))
	if err != nil {
		return "", nil, err
	}
	undone, err := s.undo(ctx, commit, patterns, command)
	if err != nil || len(undone) == 0 {
		return own, nil, err
	}
	if tree, err = s.treeWith(ctx, own, undone); err != nil {
		return "", nil, err
	}
	changed, err = s.told(ctx, own, tree)
	return tree, changed, err
}

// difference is what differs in one path.
type difference struct{ before, after, path string } // "mode object" each

// absent is the mode of a path that is not there.
const absent = "000000 "

// undo lists what a commit did to trusted files, and to what leads to them.
func (s *Store) undo(ctx context.Context, commit string, patterns, command []string) ([]difference, error) {
	globs, err := trustedGlobs(s.Repo.Prefix, patterns)
	if err != nil {
		return nil, err
	}
	specs, _, err := s.trustedSpecs(ctx, globs, command)
	if err != nil || len(specs) == 0 {
		return nil, err
	}
	found, err := s.differences(ctx, s.trusted(), commit, specs)
	if err != nil {
		return nil, err
	}
	links, err := s.hidingLinks(ctx, commit, globs)
	return append(found, links...), err
}

// hidingLinks lists links of the agent's that files would be found through at paths
// that a pattern matches, without being there themselves.
func (s *Store) hidingLinks(ctx context.Context, commit string, globs []string) ([]difference, error) {
	globs = slices.DeleteFunc(slices.Clone(globs), func(glob string) bool {
		return strings.HasPrefix(glob, "**/") // the files match where they are
	})
	if len(globs) == 0 {
		return nil, nil
	}
	all, err := s.differences(ctx, s.trusted(), commit, nil)
	return slices.DeleteFunc(all, func(c difference) bool {
		leads := func(glob string) bool { return mayMatchBelow(strings.ToLower(glob), strings.ToLower(c.path)) }
		return !strings.HasPrefix(c.after, "120000 ") || !slices.ContainsFunc(globs, leads)
	}), err
}

// mayMatchBelow tells whether a pattern could match something in a folder. Where
// that takes more than stars to know, it could.
func mayMatchBelow(glob, folder string) bool {
	parts := strings.Split(glob, "/")
	for i, name := range strings.Split(folder, "/") {
		if i == len(parts) || parts[i] == "**" {
			return true
		}
		if match, _ := path.Match(parts[i], name); !match && !strings.ContainsAny(parts[i], `[\`) {
			return false
		}
	}
	return true
}

// differences lists how the files that match differ between two commits or trees. That
// a .gitmodules asks for submodules to be ignored does not count.
func (s *Store) differences(ctx context.Context, from, to string, specs []string) ([]difference, error) {
	if len(specs) == 0 {
		return s.differencesOnce(ctx, from, to, nil)
	}
	var all []difference
	for some := range slices.Chunk(specs, specsAtOnce) {
		found, err := s.differencesOnce(ctx, from, to, some)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (s *Store) differencesOnce(ctx context.Context, from, to string, specs []string) ([]difference, error) {
	args := []string{"diff-tree", "-r", "-z", "--raw", "--no-renames", "--ignore-submodules=none", from, to, "--"}
	out, err := s.git.output(ctx, s.call(append(args, specs...)...))
	if err != nil {
		return nil, err
	}
	var found []difference
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		about := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(about) != 5 {
			return nil, fmt.Errorf("git diff-tree said %q", fields[i])
		}
		found = append(found, difference{before: about[0] + " " + about[2], after: about[1] + " " + about[3], path: fields[i+1]})
	}
	return found, nil
}

// treeWith is a tree in which changes are undone. What is put back takes the place
// of whatever is in its way.
func (s *Store) treeWith(ctx context.Context, tree string, undone []difference) (name string, err error) {
	dir, err := os.MkdirTemp(s.Dir, "index-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var gone, back strings.Builder
	for _, c := range undone {
		to := &back
		if strings.HasPrefix(c.before, absent) {
			to = &gone
		}
		fmt.Fprintf(to, "%s\t%s\x00", c.before, c.path)
	}
	index := filepath.Join(dir, "index")
	read, update, write := s.call("read-tree", tree), s.call("update-index", "-z", "--add", "--replace", "--index-info"), s.call("write-tree")
	update.stdin = strings.NewReader(gone.String() + back.String())
	read.index, update.index, write.index = index, index, index
	if err := s.git.run(ctx, read); err != nil {
		return "", err
	}
	if err := s.git.run(ctx, update); err != nil {
		return "", err
	}
	return s.git.line(ctx, write)
}

// told is what an agent did, for people: all that is otherwise in the tree with the
// trusted files.
func (s *Store) told(ctx context.Context, agents, trusted string) ([]string, error) {
	found, err := s.differences(ctx, trusted, agents, nil)
	var lines []string
	for _, c := range found {
		what := "M "
		switch {
		case strings.HasPrefix(c.before, absent):
			what = "A "
		case strings.HasPrefix(c.after, absent):
			what = "D "
		}
		lines = append(lines, what+plain(c.path))
	}
	slices.Sort(lines)
	return lines[:min(len(lines), maxChanged)], err
}
