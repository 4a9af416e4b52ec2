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

// CommandFiles are the words of a command that may name files. It knows nothing of
// sh but what parts words: a word too many does no harm.
func CommandFiles(command string) []string {
	return strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(commandBreak, r) })
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

// maxLinks is how many links in a row are followed.
const maxLinks = 10

// trustedSpecs are the pathspecs of all that is trusted, and the files of the base that
// they name. Where one of those is a link, what it leads to is trusted as well.
func (s *Store) trustedSpecs(ctx context.Context, globs, command []string) (specs []string, files []difference, err error) {
	specs, err = s.scripts(ctx, command)
	if err != nil || len(globs)+len(specs) == 0 {
		return nil, nil, err
	}
	for _, glob := range append(globs, "**/.gitattributes") {
		// The first is for links and submodules in place of a folder.
		specs = append(specs, ":(top,icase,glob)"+glob, ":(top,icase,glob)"+glob+"/**")
	}
	for range maxLinks {
		if files, err = s.baseFiles(ctx, specs); err != nil {
			return nil, nil, err
		}
		more, err := s.targets(ctx, files)
		if err != nil {
			return nil, nil, err
		}
		more = slices.DeleteFunc(more, func(spec string) bool { return slices.Contains(specs, spec) })
		if len(more) == 0 {
			return specs, files, nil
		}
		specs = append(specs, more...)
	}
	return nil, nil, errors.New("links among the trusted files lead from one to another without end")
}

// targets are the pathspecs of what links lead to, as far as that is in the repository.
func (s *Store) targets(ctx context.Context, files []difference) (specs []string, err error) {
	for _, f := range files {
		object, isLink := strings.CutPrefix(f.after, "120000 ")
		if !isLink {
			continue
		}
		to, err := s.git.output(ctx, s.call("cat-file", "blob", object))
		if err != nil {
			return nil, err
		}
		name := path.Join(path.Dir(f.path), string(to))
		if path.IsAbs(string(to)) || !filepath.IsLocal(name) || name == "." || strings.ContainsRune(name, 0) {
			continue
		}
		specs = append(specs, ":(top,icase,literal)"+name)
	}
	return specs, nil
}

// TrustedFiles are the plain files of the base that are trusted, for the patterns and
// the command of [Store.TrustedTree].
func (s *Store) TrustedFiles(ctx context.Context, patterns, command []string) (paths []string, err error) {
	globs, err := trustedGlobs(s.Repo.Prefix, patterns)
	if err != nil {
		return nil, err
	}
	_, files, err := s.trustedSpecs(ctx, globs, command)
	for _, f := range files {
		if strings.HasPrefix(f.after, "100") {
			paths = append(paths, f.path)
		}
	}
	return paths, err
}

// trustedGlobs are the patterns as git takes them, from the top.
func trustedGlobs(prefix string, patterns []string) ([]string, error) {
	var globs []string
	for _, pattern := range patterns {
		p := strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")
		everywhere := !strings.Contains(p, "/")
		p = strings.TrimSuffix(strings.Trim(p, "/"), "/**")
		switch {
		case p == "", strings.ContainsRune(p, 0), slices.Contains(strings.Split(p, "/"), ".."):
			return nil, fmt.Errorf("the pattern %q names no file of the project", pattern)
		case p == ".":
			p = "**"
		case everywhere && p != "**":
			p = "**/" + p
		}
		globs = append(globs, path.Join(escaped(prefix), p))
	}
	return globs, nil
}

// escaped is a path that stands for itself in a pattern.
func escaped(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// scripts are the patterns for files of the base that a command names, be it from
// the project, where commands run, or from the top.
func (s *Store) scripts(ctx context.Context, command []string) ([]string, error) {
	args := []string{"ls-tree", "-z", "--full-tree", s.trusted(), "--"}
	named, everywhere := len(args), []string(nil)
	for _, word := range command {
		word = strings.Trim(word, commandBreak)
		if base := path.Base(word); strings.Contains(strings.Trim(base, "."), ".") && !strings.ContainsAny(base, "*?[\\") { // wherever a cd leads
			everywhere = append(everywhere, ":(top,icase,glob)**/"+base)
		}
		for _, name := range []string{path.Join(s.Repo.Prefix, word), path.Clean(word)} {
			if filepath.IsLocal(name) && name != "." && !strings.ContainsRune(name, 0) && !slices.Contains(args[named:], name) {
				args = append(args, name)
			}
		}
	}
	specs, err := s.inBase(ctx, everywhere)
	if err != nil || len(args) == named {
		return specs, err
	}
	list := s.call(args...)
	list.env = []string{"GIT_LITERAL_PATHSPECS=1"}
	out, err := s.git.output(ctx, list)
	for line := range strings.SplitSeq(string(out), "\x00") {
		if about, name, ok := strings.Cut(line, "\t"); ok && strings.Contains(about, " blob ") {
			specs = append(specs, ":(top,icase,literal)"+name)
		}
	}
	return specs, err
}

// inBase are the literal pathspecs of the base's files that others match.
func (s *Store) inBase(ctx context.Context, specs []string) (literal []string, err error) {
	if len(specs) == 0 {
		return nil, nil
	}
	found, err := s.baseFiles(ctx, specs)
	for _, f := range found {
		literal = append(literal, ":(top,icase,literal)"+f.path)
	}
	return literal, err
}

// baseFiles lists what pathspecs match in the base.
func (s *Store) baseFiles(ctx context.Context, specs []string) ([]difference, error) {
	nothing, err := s.git.line(ctx, s.call("hash-object", "-t", "tree", "--stdin"))
	if err != nil {
		return nil, err
	}
	return s.differences(ctx, nothing, s.trusted(), specs)
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

// trusted is the commit whose checks count.
func (s *Store) trusted() string {
	if s.Trusted != "" {
		return s.Trusted
	}
	return s.Base
}
