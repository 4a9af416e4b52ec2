package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Uncommitted is what a clone does not have of the user's work tree.
type Uncommitted struct {
	Changed   int      // tracked files that differ from HEAD, staged or not
	Untracked int      // files and folders that git does not know and does not ignore
	Some      []string // the first of them, for people
}

// maxSome is how many files people are shown.
const maxSome = 10

// Uncommitted looks at the user's work tree. Nothing of it is run: files that a filter
// would have to be asked about are left out, and submodules are not entered. What the
// user's own global excludes name counts as untracked.
func (r *Repository) Uncommitted(ctx context.Context) (found Uncommitted, err error) {
	err = r.with(func(v *view) error {
		found, err = v.uncommitted(ctx)
		return err
	})
	if err != nil {
		return Uncommitted{}, fmt.Errorf("looking for uncommitted changes in %s: %w", r.Top, err)
	}
	return found, nil
}

func (v *view) uncommitted(ctx context.Context) (found Uncommitted, err error) {
	attributes, changed, untracked, err := v.status(ctx, "normal")
	if err != nil {
		return found, err
	}
	attributes.args = []string{"check-attr", "-z", "--stdin", "filter"}
	filters, err := v.filters(ctx, attributes, changed)
	if err != nil {
		return found, err
	}
	changed = slices.DeleteFunc(changed, func(path string) bool { return filters[path] != "" })
	some := slices.Concat(changed, untracked)
	some = some[:min(len(some), maxSome)]
	for i, path := range some {
		some[i] = plain(path)
	}
	return Uncommitted{len(changed), len(untracked), some}, nil
}

// maxUntracked is how many untracked files are told one by one.
const maxUntracked = 10_000

// Untracked lists the files of the user's work tree that git neither knows nor
// ignores, as far as there are not too many.
func (r *Repository) Untracked(ctx context.Context) (paths []string, err error) {
	err = r.with(func(v *view) error {
		_, _, paths, err = v.status(ctx, "all")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("looking for untracked files in %s: %w", r.Top, err)
	}
	return paths[:min(len(paths), maxUntracked)], nil
}

// status asks git what differs from HEAD, and returns the call that asked.
func (v *view) status(ctx context.Context, untracked string) (asked call, changed, unknown []string, err error) {
	asked, err = v.inWorkTree(ctx, "status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all", "--untracked-files="+untracked)
	if err != nil {
		return asked, nil, nil, err
	}
	out, err := v.git.output(ctx, asked)
	changed, unknown = parseStatus(string(out))
	return asked, changed, unknown, err
}

// parseStatus reads what git status says.
func parseStatus(out string) (changed, untracked []string) {
	for line := range strings.SplitSeq(out, "\x00") {
		switch {
		case len(line) < 4:
		case strings.HasPrefix(line, "?? "):
			untracked = append(untracked, line[3:])
		default:
			changed = append(changed, line[3:])
		}
	}
	return changed, untracked
}

// inWorkTree is a git that sees the user's files, a copy of the user's index, and of
// the configuration only what says how files are written and which are ignored.
func (v *view) inWorkTree(ctx context.Context, args ...string) (call, error) {
	settings, err := v.repo.diskSettings(ctx)
	if err != nil {
		return call{}, err
	}
	info := filepath.Join(v.repo.Common, "info")
	err = errors.Join(
		writeFile(filepath.Join(v.dir, "info/exclude"), readSmall(filepath.Join(info, "exclude"))+"\n.ralph/\n", 0o600),
		writeFile(filepath.Join(v.dir, "info/attributes"), readSmall(filepath.Join(info, "attributes")), 0o600),
		v.copyIndex(v.repo.Dir),
	)
	c := v.call(args...)
	c.tree, c.env = v.repo.Top, configEnv(slices.Concat(closedConfig(), [][2]string{{"core.bare", "false"}}, settings))
	return c, err
}

// copyIndex brings a copy of an index into the view. Its time must stay: git takes
// files that changed later for suspect.
func (v *view) copyIndex(from string) error {
	source, target := filepath.Join(from, "index"), filepath.Join(v.dir, "index")
	info, err := os.Lstat(source)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing is tracked yet
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return refuse(source, "it is no plain file", "replace it with what it leads to")
	}
	if err := errors.Join(v.shareIndexes(from), copyFile(source, target)); err != nil {
		return err
	}
	return errors.Join(os.Chmod(target, 0o600), os.Chtimes(target, info.ModTime(), info.ModTime()))
}

// shareIndexes brings what a split index consists of beside itself.
func (v *view) shareIndexes(from string) error {
	entries, err := os.ReadDir(from)
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasPrefix(e.Name(), "sharedindex.") {
			err = errors.Join(err, share(from, v.dir, e.Name()))
		}
	}
	return err
}

// diskSettings are those of the user's configuration that say how files are on disk.
// None of them can name a program.
func (r *Repository) diskSettings(ctx context.Context) ([][2]string, error) {
	query := []string{"--null", "--get-regexp", writtenKeys}
	shared, err1 := r.config(ctx, query...)
	own, err2 := r.treeConfig(ctx, query...)
	var settings [][2]string
	for _, item := range slices.Concat(splitNul(shared), splitNul(own)) {
		key, value, given := strings.Cut(item, "\n")
		if !given {
			value = "true"
		}
		if written(key, value) {
			settings = append(settings, [2]string{key, value})
		}
	}
	return settings, errors.Join(err1, err2)
}

// filters tells which of the paths have a filter, and which.
func (v *view) filters(ctx context.Context, c call, paths []string) (map[string]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	c.stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	out, err := v.git.output(ctx, c)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+2 < len(fields); i += 3 {
		switch value := fields[i+2]; value {
		case "unspecified", "unset", "set":
		default:
			found[fields[i]] = value
		}
	}
	return found, nil
}

// Peculiar counts what a commit has that a clone of ralph's has not: submodules, and
// files that LFS keeps elsewhere.
func (r *Repository) Peculiar(ctx context.Context, commit string) (submodules, lfs int, err error) {
	err = r.with(func(v *view) error {
		submodules, lfs, err = v.peculiar(ctx, commit)
		return err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("looking for submodules and LFS files in %s: %w", short(commit), err)
	}
	return submodules, lfs, nil
}

func (v *view) peculiar(ctx context.Context, commit string) (submodules, lfs int, err error) {
	if err := v.git.run(ctx, v.call("read-tree", commit)); err != nil {
		return 0, 0, err
	}
	out, err := v.git.output(ctx, v.call("ls-files", "--stage", "-z"))
	if err != nil {
		return 0, 0, err
	}
	var paths []string
	attributes := false
	for line := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		about, path, _ := strings.Cut(line, "\t")
		switch {
		case strings.HasPrefix(about, "160000 "):
			submodules++
		case strings.HasPrefix(about, "100"):
			paths = append(paths, path)
			attributes = attributes || path == ".gitattributes" || strings.HasSuffix(path, "/.gitattributes")
		}
	}
	if !attributes {
		return submodules, 0, nil
	}
	filters, err := v.filters(ctx, v.call("check-attr", "--cached", "-z", "--stdin", "filter"), paths)
	for _, filter := range filters {
		if filter == "lfs" {
			lfs++
		}
	}
	return submodules, lfs, err
}
