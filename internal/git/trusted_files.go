package git

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// CommandFiles are the words of a command that may name files. It knows nothing of
// sh but what parts words: a word too many does no harm.
func CommandFiles(command string) []string {
	return strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(commandBreak, r) })
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

// trusted is the commit whose checks count.
func (s *Store) trusted() string {
	if s.Trusted != "" {
		return s.Trusted
	}
	return s.Base
}
