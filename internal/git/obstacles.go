package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// checkIdle refuses while the user is in the middle of something.
func (r *Repository) checkIdle() error {
	for file, what := range map[string]string{
		"MERGE_HEAD": "merge", "rebase-merge": "rebase", "rebase-apply": "rebase",
		"CHERRY_PICK_HEAD": "cherry-pick", "REVERT_HEAD": "revert", "BISECT_LOG": "bisect",
	} {
		if _, err := os.Lstat(filepath.Join(r.Dir, file)); err == nil {
			return refuse(r.Top, "a "+what+" is in progress there", "finish it, or end it: see git status")
		}
	}
	return nil
}

// checkProtected refuses paths that the host would obey: those that the run changed,
// and those that the merge would change, which are others where the user renamed them.
func (a *applying) checkProtected(ctx context.Context, base string) error {
	if a.Protected == nil || a.AllowProtected {
		return nil
	}
	theirs, err := a.pathChanges(ctx, base, a.Commit)
	if err != nil {
		return err
	}
	var paths []string
	for _, c := range slices.Concat(theirs, a.changed) {
		if a.Protected(c.path) {
			paths = append(paths, c.path)
		}
	}
	if len(paths) == 0 {
		return nil
	}
	slices.Sort(paths)
	return refuse("", a.Name+" changes files that programs on this machine obey: "+list(slices.Compact(paths)), "look at them with ralph diff, then pass --allow-protected")
}

// check finds all that stands in the way before anything is touched.
func (a *applying) check(ctx context.Context) error {
	if !a.Squash && !a.fastForward && a.nobody != nil {
		return a.nobody
	}
	if err := a.checkFilters(ctx); err != nil {
		return err
	}
	if err := a.refresh(ctx); err != nil {
		return err
	}
	if err := a.checkLocal(ctx); err != nil {
		return err
	}
	return a.rehearse(ctx)
}

// checkFilters refuses files whose content is not what is to be written: those of
// git-lfs, and whatever else the user has filters for.
func (a *applying) checkFilters(ctx context.Context) error {
	merged := filepath.Join(a.dir, "index")
	read := a.call("read-tree", a.tree)
	read.index = merged
	if err := a.git.run(ctx, read); err != nil {
		return err
	}
	var paths strings.Builder
	for _, c := range a.changed {
		if c.kind != 'D' {
			paths.WriteString(c.path + "\x00")
		}
	}
	ask := a.call("check-attr", "--cached", "-z", "--stdin", "filter")
	ask.index, ask.env, ask.stdin = merged, a.config, strings.NewReader(paths.String())
	out, err := a.git.output(ctx, ask)
	if err != nil {
		return err
	}
	var filtered []string
	for answer := range slices.Chunk(splitNul(string(out)), 3) {
		if value := answer[len(answer)-1]; value != "unspecified" && value != "unset" && value != "set" {
			filtered = append(filtered, answer[0])
		}
	}
	if len(filtered) > 0 {
		return refuse(a.Name, "filters are to be run on some of its files, and ralph runs none: "+list(filtered), "git merge "+a.ref(ctx))
	}
	return nil
}

// refresh looks again at files whose times have changed.
func (a *applying) refresh(ctx context.Context) error {
	err := a.git.run(ctx, a.inTree("update-index", "-q", "--refresh"))
	if saidNo(err) {
		return nil // some have changed indeed
	}
	return err
}

// checkStaged refuses to stage changes beside others: nobody could part them again.
func (a *applying) checkStaged(ctx context.Context) error {
	if !a.Squash {
		return nil
	}
	err := a.git.run(ctx, a.inTree("diff-index", "--cached", "--quiet", "--ignore-submodules=none", a.from))
	if saidNo(err) {
		return refuse("", "you have staged changes, which would be mixed with those of "+a.Name, "commit them, or git restore --staged .")
	}
	return err
}

// checkLocal refuses to touch files that the user has changed, and to overwrite ones
// that git does not know. Ignored files count as well: they are the ones that nobody
// has a copy of.
func (a *applying) checkLocal(ctx context.Context) error {
	if err := a.checkStaged(ctx); err != nil {
		return err
	}
	local, err := a.localChanges(ctx)
	if err != nil {
		return err
	}
	var dirty []string
	for _, c := range a.changed {
		if local[c.path] {
			dirty = append(dirty, c.path)
		}
	}
	if len(dirty) > 0 {
		return refuse("", a.Name+" changes files that you have changed: "+list(dirty), "commit or stash them")
	}
	inWay, err := a.inTheWay(ctx)
	if err != nil {
		return err
	}
	if len(inWay) > 0 {
		return refuse("", "files that git does not know are in the way: "+list(inWay), "move them away, or commit them")
	}
	return nil
}

// localChanges lists what differs from the branch, staged or not. Submodules are not
// looked into: that would be a git with their configuration.
func (a *applying) localChanges(ctx context.Context) (map[string]bool, error) {
	local := map[string]bool{}
	for _, c := range []call{
		a.inTree("diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=all"),
		a.inTree("diff-index", "-z", "--cached", "--name-only", "--no-renames", "--ignore-submodules=dirty", a.from),
	} {
		out, err := a.git.output(ctx, c)
		if err != nil {
			return nil, err
		}
		for _, path := range splitNul(string(out)) {
			local[path] = true
		}
	}
	return local, nil
}

// inTheWay lists files that git does not know and that would be overwritten.
func (a *applying) inTheWay(ctx context.Context) ([]string, error) {
	out, err := a.git.output(ctx, a.inTree("ls-files", "-z", "--cached"))
	if err != nil {
		return nil, err
	}
	tracked := map[string]bool{}
	for _, path := range splitNul(string(out)) {
		tracked[path] = true
	}
	var found []string
	for _, c := range a.changed {
		if c.kind != 'T' && (c.kind != 'A' || tracked[c.path]) {
			continue // a submodule becomes a file by T, and goes with all that is in it
		}
		other, err := occupied(a.repo.Top, c.path, tracked)
		if err != nil {
			return nil, err
		}
		if other != "" {
			found = append(found, other)
		}
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// occupied returns what is where a path is to be; empty: nothing that git does not
// know.
func occupied(top, path string, tracked map[string]bool) (string, error) {
	for i := 0; i < len(path); i++ {
		if path[i] != '/' {
			continue
		}
		info, err := os.Lstat(filepath.Join(top, filepath.FromSlash(path[:i])))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", nil
		case err != nil:
			return "", err
		case !info.IsDir() && tracked[path[:i]]:
			return "", nil // git replaces it by a folder
		case !info.IsDir():
			return path[:i], nil
		}
	}
	return unknown(top, path, tracked)
}

// unknown returns a file at or below a path that git does not know.
func unknown(top, path string, tracked map[string]bool) (found string, err error) {
	err = filepath.WalkDir(filepath.Join(top, filepath.FromSlash(path)), func(file string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(top, file)
		if name = filepath.ToSlash(name); err == nil && !tracked[name] {
			found = name
			return filepath.SkipAll
		}
		return err
	})
	return found, err
}

// rehearse lets git find whatever else there is.
func (a *applying) rehearse(ctx context.Context) error {
	err := a.git.run(ctx, a.inTree("read-tree", "--dry-run", "-m", "-u", a.from, a.tree))
	var failed *CommandError
	if errors.As(err, &failed) {
		return refuse(a.repo.Top, strings.TrimPrefix(plainLine(failed.Stderr), "error: "), "see git status; commit or stash your changes")
	}
	return err
}
