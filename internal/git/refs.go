package git

import (
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
// anything, slashes too.
func MatchBranch(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matchStar(p, name) })
}

func matchStar(pattern, name string) bool {
	before, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, before)
	for ; ok; _, name, ok = cutFirst(name) {
		if matchStar(rest, name) {
			return true
		}
	}
	return false
}

// cutFirst cuts off the first byte.
func cutFirst(s string) (first, rest string, ok bool) {
	if s == "" {
		return "", "", false
	}
	return s[:1], s[1:], true
}

// updates is the input of update-ref.
func updates(refs map[string]string) io.Reader {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		fmt.Fprintf(&text, "update %s %s\n", name, refs[name])
	}
	return strings.NewReader(text.String())
}
