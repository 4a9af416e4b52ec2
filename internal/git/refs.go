package git

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// CheckBranch refuses what cannot be the name of a branch, by git's own rules and a
// little more: no name that a command could take for a flag, or a path for another.
func CheckBranch(name string) error {
	bad := func(why string) error { return fmt.Errorf("%q cannot be a branch: %s", name, why) }
	switch {
	case name == "":
		return bad("it is empty")
	case len(name) > maxBranch:
		return bad(fmt.Sprintf("it is longer than %d bytes", maxBranch))
	case name == "HEAD" || name == "@":
		return bad("git means something else by it")
	case strings.HasPrefix(name, "-"):
		return bad("it begins with -")
	case strings.HasPrefix(name, "refs/"):
		return bad("it is the name of a ref; leave refs/heads/ out")
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) }):
		return bad("it has a space or a control character in it")
	case strings.ContainsAny(name, `~^:?*[\`):
		return bad(`it has one of ~^:?*[\ in it`)
	case strings.Contains(name, "..") || strings.Contains(name, "@{"):
		return bad("it has .. or @{ in it")
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "":
			return bad("it begins or ends with a slash, or has two together")
		case strings.HasPrefix(part, "."), strings.HasSuffix(part, "."), strings.HasSuffix(part, ".lock"):
			return bad("a part of it begins or ends with a dot, or ends with .lock")
		}
	}
	return nil
}

// maxBranch is what any file system takes, with room for git's own suffixes.
const maxBranch = 200

// MatchBranch tells whether one of the patterns names a branch. A * stands for
// anything, slashes too, and a ? for one character. Case does not count: on many file
// systems two branches that differ in nothing else are one.
func MatchBranch(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(strings.ToLower(p), strings.ToLower(name)) })
}

func matches(pattern, name string) bool {
	if pattern == "" {
		return name == ""
	}
	if pattern[0] == '*' {
		rest := strings.TrimLeft(pattern, "*")
		for i := range len(name) + 1 {
			if matches(rest, name[i:]) {
				return true
			}
		}
		return false
	}
	return name != "" && (pattern[0] == '?' || pattern[0] == name[0]) && matches(pattern[1:], name[1:])
}

// updates is the input of update-ref.
func updates(refs map[string]string) io.Reader {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		fmt.Fprintf(&text, "update %s %s\n", name, refs[name])
	}
	return strings.NewReader(text.String())
}

// CheckFree refuses a branch that cannot be made beside those that exist.
func (r *Repository) CheckFree(ctx context.Context, branch string) error {
	return r.with(func(v *view) error {
		for i, c := range branch {
			if c != '/' {
				continue
			}
			is, err := v.resolve(ctx, "refs/heads/"+branch[:i])
			if err != nil {
				return err
			}
			if is != "" {
				return refuse("the branch "+branch, "there is a branch "+branch[:i], "choose another one with --branch")
			}
		}
		below, err := v.git.output(ctx, v.call("for-each-ref", "--count=1", "--format=%(refname)", "refs/heads/"+branch+"/"))
		if err == nil && len(below) > 0 {
			err = refuse("the branch "+branch, "there are branches below it", "choose another one with --branch")
		}
		return err
	})
}
