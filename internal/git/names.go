package git

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

const (
	maxPath  = 4096
	maxPaths = 1_000_000
	maxTold  = 50 // paths that are told one by one
)

// entry is one file of a tree.
type entry struct{ mode, object, path string }

// checkNames refuses names that some file system takes for another, or a terminal
// obeys, as far as the run brought them. What fsck refuses is refused before. It also
// notes which of the paths that the host would obey have changed since the base.
func (q *quarantine) checkNames(ctx context.Context, tip string, protected func(string) bool, found *Import) error {
	changed, err := q.changedSince(ctx, q.Base, tip)
	if err != nil || len(changed) == 0 {
		return err
	}
	fresh := map[string]bool{}
	for _, e := range changed {
		fresh[e.path] = true
		if protected(e.path) && len(found.Protected) < maxTold {
			found.Protected = append(found.Protected, e.path)
		}
		if e.mode == "160000" && len(found.Links) < maxTold {
			found.Links = append(found.Links, e.path)
		}
		if e.mode != "000000" {
			if err := checkName(e.path); err != nil {
				return err
			}
		}
	}
	return q.checkCollisions(ctx, tip, fresh)
}

// maxSuspects is how many commits are looked through one by one.
const maxSuspects = 500

// checkPast refuses names of commits before the last one, which a person may look at
// or go back to as well.
func (q *quarantine) checkPast(ctx context.Context, commits []string) error {
	if len(commits) < 2 {
		return nil
	}
	c := q.call("diff-tree", "--stdin", "--no-commit-id", "-m", "-r", "-z", "--no-renames", "--ignore-submodules=none", "--raw")
	c.stdin = strings.NewReader(strings.Join(commits, "\n") + "\n")
	changed, err := q.diffTree(ctx, c)
	if err != nil {
		return err
	}
	fresh := map[string]bool{}
	for _, e := range changed {
		if e.mode == "000000" {
			continue
		}
		if err := checkName(e.path); err != nil {
			return err
		}
		fresh[e.path] = true
	}
	suspect, err := q.mayCollide(ctx, fresh)
	if err != nil || !suspect {
		return err
	}
	if len(commits) > maxSuspects {
		return bad("paths of theirs are one where case does not count, in one of %d commits", len(commits))
	}
	for _, commit := range commits {
		if err := q.checkCollisions(ctx, commit, fresh); err != nil {
			return err
		}
	}
	return nil
}

// mayCollide tells whether paths would be one where case does not count, if all of them
// and those of the base were there at the same time.
func (q *quarantine) mayCollide(ctx context.Context, fresh map[string]bool) (bool, error) {
	out, err := q.git.output(ctx, q.call("ls-tree", "-r", "-z", "--full-tree", "--name-only", q.Base))
	if err != nil {
		return false, err
	}
	seen := map[string]string{}
	for path := range strings.SplitSeq(string(out), "\x00") {
		see(seen, path)
	}
	for path := range fresh {
		if !see(seen, path) {
			return true, nil
		}
	}
	return false, nil
}

// see notes a path and the folders above it, and tells whether none of them was there
// in another spelling.
func see(seen map[string]string, path string) bool {
	for end := len(path); end > 0; end = strings.LastIndexByte(path[:end], '/') {
		folded := foldPath(path[:end])
		if other, there := seen[folded]; there {
			return other == path[:end]
		}
		seen[folded] = path[:end]
	}
	return true
}

// checkName refuses a path that cannot be shown or written everywhere.
func checkName(path string) error {
	switch {
	case len(path) > maxPath:
		return bad("a path has %d bytes, more than %d", len(path), maxPath)
	case strings.ContainsFunc(path, func(r rune) bool { return unicode.IsControl(r) }):
		return bad("the path %q has a control character in it", path)
	case strings.Contains(path, `\`):
		return bad("the path %q has a backslash in it, which some systems take for a slash", path)
	}
	for part := range strings.SplitSeq(path, "/") {
		if folded := fold(part); folded == ".git" || strings.Trim(folded, ". ") == "" {
			return bad("the path %q leads elsewhere", path)
		}
	}
	return nil
}

// fold is a name as the least careful of file systems sees it: without case, with
// letters composed, without what is not seen, and without dots and spaces at its end.
func fold(name string) string {
	visible := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, name)
	folded := cases.Fold().String(norm.NFKC.String(visible))
	if trimmed := strings.TrimRight(folded, ". "); trimmed != "" {
		return trimmed
	}
	return folded
}

// checkCollisions finds two paths that are one where case does not count. Those that
// the base has are the user's.
func (q *quarantine) checkCollisions(ctx context.Context, tip string, fresh map[string]bool) error {
	out, err := q.git.output(ctx, q.call("ls-tree", "-r", "-t", "-z", "--full-tree", "--name-only", tip))
	if err != nil {
		return hostile(err)
	}
	seen := map[string]string{}
	for path := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		folded := foldPath(path)
		other, taken := seen[folded]
		if taken && (fresh[path] || fresh[other] || introduced(path, fresh) || introduced(other, fresh)) {
			return bad("the paths %q and %q are one where case does not count", other, path)
		}
		if seen[folded] = path; len(seen) > maxPaths {
			return bad("they hold more than %d paths", maxPaths)
		}
	}
	return nil
}

// introduced tells whether a folder is there because of something new in it.
func introduced(folder string, fresh map[string]bool) bool {
	for path := range fresh {
		if strings.HasPrefix(path, folder+"/") {
			return true
		}
	}
	return false
}

func foldPath(path string) string {
	if isPlain(path) {
		return path
	}
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = fold(part)
	}
	return strings.Join(parts, "/")
}

// isPlain recognises most paths as being folded already.
func isPlain(path string) bool {
	for i := range len(path) {
		if c := path[i]; c >= 0x80 || c >= 'A' && c <= 'Z' || c == ' ' || c == '.' && (i+1 == len(path) || path[i+1] == '/') {
			return false
		}
	}
	return true
}

// changedSince lists what differs between two commits, as it is in the second.
func (q *quarantine) changedSince(ctx context.Context, from, to string) ([]entry, error) {
	return q.diffTree(ctx, q.call("diff-tree", "-r", "-z", "--no-renames", "--ignore-submodules=none", "--raw", from, to))
}

// diffTree runs a diff-tree and reads its raw output.
func (s *Store) diffTree(ctx context.Context, c call) ([]entry, error) {
	out, err := s.git.output(ctx, c)
	if err != nil {
		return nil, hostile(err)
	}
	var entries []entry
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		about := strings.Fields(fields[i])
		if len(about) != 5 {
			return nil, fmt.Errorf("git diff-tree said %q", fields[i])
		}
		entries = append(entries, entry{mode: about[1], object: about[3], path: fields[i+1]})
	}
	return entries, nil
}
