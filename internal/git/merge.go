package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ConflictError means that the user and the run changed the same things in different
// ways. Nothing was changed.
type ConflictError struct {
	Paths  []string
	Name   string // what was to be merged, as the user calls it
	Branch string // that it was to be merged into
	Ref    string // what git knows it by
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s does not merge into %s by itself: both changed %s", e.Name, e.Branch, list(e.Paths))
}

// Hint is what to do next.
func (e *ConflictError) Hint() string {
	return "nothing was changed; merge it by hand: git merge " + e.Ref
}

// merge finds out what the files will be, without touching any.
func (a *applying) merge(ctx context.Context) (nothing bool, err error) {
	base, err := a.mergeBase(ctx)
	switch {
	case err != nil || base == a.Commit:
		return true, err
	case base == "":
		return false, refuse(a.Name, "it has no history in common with the branch "+a.branch, "git switch to the branch that the run began with")
	case base == a.from:
		a.fastForward = true
		a.tree, err = a.treeOf(ctx, a.Commit)
	default:
		a.tree, err = a.mergeTrees(ctx)
	}
	if err != nil {
		return false, err
	}
	if a.changed, err = a.pathChanges(ctx, a.from, a.tree); err != nil {
		return false, err
	}
	if a.Squash && len(a.changed) == 0 {
		return true, nil
	}
	return false, a.checkProtected(ctx, base)
}

// mergeBase is the newest commit that both have in common; empty: none.
func (a *applying) mergeBase(ctx context.Context) (string, error) {
	base, err := a.git.line(ctx, a.call("merge-base", a.from, a.Commit))
	if saidNo(err) {
		return "", nil
	}
	return base, err
}

func (v *view) treeOf(ctx context.Context, commit string) (string, error) {
	return v.git.line(ctx, v.call("rev-parse", "--verify", "--end-of-options", commit+"^{tree}"))
}

// usageCode is how git says that it does not know an option.
const usageCode = 129

// mergeTrees merges both sides. Only git's built-in ways of merging a file are used.
func (a *applying) mergeTrees(ctx context.Context) (string, error) {
	out := &limited{most: maxOutput}
	c := a.call("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", a.from, a.Commit)
	c.stdout, c.env = out, a.config
	err := a.git.run(ctx, c)
	tree, conflicts, _ := strings.Cut(out.buffer.String(), "\x00")
	var failed *CommandError
	switch {
	case err == nil && isObjectName(tree, a.repo.Format):
		return tree, nil
	case err == nil:
		return "", fmt.Errorf("git merge-tree said %q", tree)
	case !errors.As(err, &failed):
		return "", err
	case failed.Code == 1:
		return "", &ConflictError{Paths: splitNul(conflicts), Name: a.Name, Branch: a.branch, Ref: a.ref(ctx)}
	case failed.Code == usageCode:
		return "", refuse("this git", "it cannot merge without touching files: git 2.38 or newer is needed", "install a newer git, or git merge "+a.ref(ctx))
	}
	return "", fmt.Errorf("merging %s: %w", plain(a.Name), err)
}

// ref is what a person would call the commit in a git command: its branch, if it has one.
func (a *applying) ref(ctx context.Context) string {
	out, err := a.git.output(ctx, a.call("for-each-ref", "--points-at="+a.Commit, "--format=%(refname)", "refs/heads", "refs/ralph-runs"))
	first, _, _ := strings.Cut(string(out), "\n")
	if err != nil || first == "" {
		return short(a.Commit)
	}
	return strings.TrimPrefix(first, "refs/heads/")
}

// commit makes the commit that the branch is to be at. It is the user's: the merge is
// the user's decision.
func (a *applying) commit(ctx context.Context) (string, error) {
	switch {
	case a.Squash:
		return a.from, nil
	case a.fastForward:
		return a.Commit, nil
	}
	c := a.call("commit-tree", a.tree, "-p", a.from, "-p", a.Commit)
	c.env = a.who.env("")
	if a.Signer != nil {
		c.args, c.env = append(c.args, "-S"), append(c.env, a.Signer.env()...)
	}
	c.stdin = strings.NewReader("Merge ralph " + plainName(a.Name) + "\n")
	commit, err := a.git.line(ctx, c)
	if err != nil {
		return "", fmt.Errorf("committing the merge of %s: %w", plain(a.Name), err)
	}
	return commit, nil
}

// pathChange is a path in which two trees differ.
type pathChange struct {
	kind byte // A, M, D or T
	path string
}

func (v *view) pathChanges(ctx context.Context, from, to string) ([]pathChange, error) {
	out, err := v.git.output(ctx, v.call("diff-tree", "-r", "-z", "--no-renames", "--name-status", from, to))
	if err != nil {
		return nil, err
	}
	fields := splitNul(string(out))
	var changes []pathChange
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == "" {
			return nil, fmt.Errorf("git diff-tree said %q", fields[i:])
		}
		changes = append(changes, pathChange{fields[i][0], fields[i+1]})
	}
	return changes, nil
}

// splitNul takes apart what git printed with -z.
func splitNul(text string) []string {
	if text = strings.TrimSuffix(text, "\x00"); text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}

// list is how paths are told: not all, and none that a terminal would obey.
func list(paths []string) string {
	told := paths[:min(len(paths), maxTold)]
	names := make([]string, len(told))
	for i, path := range told {
		if names[i] = path; plain(path) != path {
			names[i] = fmt.Sprintf("%q", path)
		}
	}
	text := strings.Join(names, ", ")
	if more := len(paths) - len(told); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
