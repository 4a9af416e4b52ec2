package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// WorktreePath is where a branch of a repository is put for people to open: beside
// the repository.
func WorktreePath(top, branch string) string {
	return filepath.Join(filepath.Dir(top), filepath.Base(top)+"-"+strings.ReplaceAll(branch, "/", "-"))
}

// Worktree makes a folder with the files of a commit, which must have been published,
// or brings the one that it made before to another commit. The folder is a linked
// work tree of the user's repository, so that git works there as anywhere; no sandbox
// ever sees it. It is at the commit itself and not on the run's branch: a branch that
// is checked out could not be moved.
//
// A *RefusedError means that the folder is somebody else's, or that the user has
// changed something in it. It is left as it is then.
func (s *Store) Worktree(ctx context.Context, dir, commit string) error {
	err := s.worktree(ctx, dir, commit)
	var refused *RefusedError
	if err == nil || errors.As(err, &refused) {
		return err
	}
	return fmt.Errorf("putting %s into %s: %w", short(commit), dir, err)
}

func (s *Store) worktree(ctx context.Context, dir, commit string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	return s.Repo.with(func(v *view) error {
		to, err := v.resolve(ctx, commit)
		if err == nil && to == "" {
			err = fmt.Errorf("the repository has no commit %s", plain(commit))
		}
		if err != nil {
			return err
		}
		w := &worktree{view: v, dir: dir, branch: s.Branch}
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			return w.add(ctx, to, s.emptyTree())
		} else if err != nil {
			return err
		}
		return w.move(ctx, to)
	})
}

// worktree is a linked work tree that ralph makes for a branch.
type worktree struct {
	*view
	dir    string // its files
	admin  string // its part of the user's git directory
	branch string
}

// marker is a file beside its HEAD that says that ralph made it, for which branch,
// and where it was put last.
const marker = "ralph"

// making is what the file says that keeps git from pruning it meanwhile.
const making = "ralph is making it\n"

// maxIDs is how many work trees of one name there may be.
const maxIDs = 1000

// add makes a new one, whole or not at all.
func (w *worktree) add(ctx context.Context, commit, empty string) (err error) {
	if err := w.forget(); err != nil {
		return err
	}
	if err := os.Mkdir(w.dir, 0o755); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(w.dir))
		}
	}()
	if w.admin, err = makeAdmin(filepath.Join(w.repo.Common, "worktrees"), filepath.Base(w.dir)); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(w.admin))
		}
	}()
	locked := filepath.Join(w.admin, "locked")
	if err := errors.Join(
		writeFile(locked, making, 0o644),
		writeFile(filepath.Join(w.admin, "commondir"), "../..\n", 0o644),
		writeFile(filepath.Join(w.admin, "gitdir"), filepath.ToSlash(w.dotGit())+"\n", 0o644),
		w.setHead(commit),
		writeFile(w.dotGit(), "gitdir: "+filepath.ToSlash(w.admin)+"\n", 0o644),
	); err != nil {
		return err
	}
	if err := w.checkOut(ctx, empty, commit); err != nil {
		return err
	}
	return os.Remove(locked)
}

func (w *worktree) dotGit() string { return filepath.Join(w.dir, ".git") }

// forget removes what is known of a work tree whose folder is gone, if ralph made it.
func (w *worktree) forget() error {
	all := filepath.Join(w.repo.Common, "worktrees")
	if info, err := os.Lstat(all); err == nil && !info.IsDir() {
		return refuse(all, "it is a link or no folder", "replace it with what it leads to")
	}
	entries, err := os.ReadDir(all)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		admin := filepath.Join(all, e.Name())
		if said := strings.TrimSpace(readSmall(filepath.Join(admin, "gitdir"))); said != filepath.ToSlash(w.dotGit()) {
			continue
		}
		if readSmall(filepath.Join(admin, marker)) == "" {
			return refuse(w.dir, "the repository has a work tree there, whose folder is gone", "git worktree prune")
		}
		if err := os.RemoveAll(admin); err != nil {
			return err
		}
	}
	return nil
}

// makeAdmin makes a folder in the user's git directory, by a name that is free.
func makeAdmin(all, base string) (string, error) {
	id := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, base)
	if err := os.MkdirAll(all, 0o755); err != nil {
		return "", err
	}
	for i := range maxIDs {
		admin := filepath.Join(all, id)
		if i > 0 {
			admin += strconv.Itoa(i)
		}
		if err := os.Mkdir(admin, 0o755); !errors.Is(err, fs.ErrExist) {
			return admin, err
		}
	}
	return "", fmt.Errorf("there are more than %d work trees by the name of %s", maxIDs, id)
}

// setHead says where the work tree is, as git does: nobody can at the same time.
func (w *worktree) setHead(commit string) error {
	head := filepath.Join(w.admin, "HEAD")
	lock, err := os.OpenFile(head+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = lock.WriteString(commit + "\n")
	if err := errors.Join(err, lock.Close()); err != nil {
		return errors.Join(err, os.Remove(lock.Name()))
	}
	if err := os.Rename(lock.Name(), head); err != nil {
		return err
	}
	return writeFile(filepath.Join(w.admin, marker), w.mark(commit), 0o644)
}

func (w *worktree) mark(commit string) string { return w.branch + "\n" + commit + "\n" }

// checkOut brings files and index from one state to another. Git refuses where that
// would overwrite something.
func (w *worktree) checkOut(ctx context.Context, from, to string) error {
	settings, err := w.repo.diskSettings(ctx)
	if err != nil {
		return err
	}
	refresh, read := w.call("update-index", "-q", "--refresh"), w.call("read-tree", "-m", "-u", from, to)
	for _, c := range []*call{&refresh, &read} {
		c.tree, c.index = w.dir, filepath.Join(w.admin, "index")
		c.env = configEnv(slices.Concat(closedConfig(), [][2]string{{"core.bare", "false"}, {"core.splitIndex", "false"}, {"checkout.workers", "0"}}, settings))
	}
	var failed *CommandError
	if err := w.git.run(ctx, refresh); err != nil && !errors.As(err, &failed) {
		return err // that files have changed is no failure
	}
	return w.git.run(ctx, read)
}

// move brings the work tree to another commit.
func (w *worktree) move(ctx context.Context, commit string) error {
	was, err := w.untouched(ctx)
	if err != nil || was == commit {
		return err
	}
	if err := w.checkRoom(ctx, was, commit); err != nil {
		return err
	}
	err = w.checkOut(ctx, was, commit)
	var failed *CommandError
	if errors.As(err, &failed) {
		return refuse(w.dir, strings.TrimPrefix(plainLine(failed.Stderr), "error: "), w.away())
	}
	if err != nil {
		return err
	}
	return w.setHead(commit)
}

// checkRoom refuses to put files where the user has others, ignored ones too.
func (w *worktree) checkRoom(ctx context.Context, from, to string) error {
	changed, err := w.git.output(ctx, w.call("diff-tree", "-r", "-z", "--no-renames", "--diff-filter=AT", "--name-only", from, to))
	if err != nil {
		return err
	}
	tracked, err := w.git.output(ctx, w.call("ls-tree", "-r", "-z", "--full-tree", "--name-only", from))
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, path := range splitNul(string(tracked)) {
		known[path] = true
	}
	for _, path := range splitNul(string(changed)) {
		other, err := occupied(w.dir, path, known)
		if err != nil {
			return err
		}
		if other != "" {
			return refuse(w.dir, "you have "+plain(other)+" where the branch has another", w.away())
		}
	}
	return nil
}

// away is how a user gets a new work tree.
func (w *worktree) away() string {
	return "keep what you need of it, then git worktree remove --force " + w.dir
}

// untouched makes sure that the folder is the one that ralph made, as ralph left it,
// and tells where it is.
func (w *worktree) untouched(ctx context.Context) (commit string, err error) {
	elsewhere := refuse(w.dir, "it is no work tree of ralph's for the branch "+w.branch, "move it away")
	if info, err := os.Lstat(w.dir); err != nil || !info.IsDir() {
		return "", errors.Join(err, elsewhere)
	}
	if _, err := os.Lstat(w.dotGit()); err != nil {
		return "", elsewhere
	}
	own, err := Open(ctx, w.git, w.dir)
	if err != nil {
		return "", err
	}
	branch, commit, _ := strings.Cut(strings.TrimSpace(readSmall(filepath.Join(own.Dir, marker))), "\n")
	if !own.linked || !samePath(own.Common, w.repo.Common) || branch != w.branch || !isObjectName(commit, w.repo.Format) {
		return "", elsewhere
	}
	w.admin = own.Dir
	if readSmall(filepath.Join(own.Dir, "locked")) == making {
		return "", refuse(w.dir, "making it was interrupted", "git worktree remove --force --force "+w.dir)
	}
	if head := strings.TrimSpace(readSmall(filepath.Join(own.Dir, "HEAD"))); head != commit {
		return "", refuse(w.dir, "you have moved its HEAD", w.away())
	}
	found, err := own.Uncommitted(ctx)
	if err == nil && found.Changed > 0 {
		err = refuse(w.dir, "you have changed files there: "+strings.Join(found.Some[:min(found.Changed, len(found.Some))], ", "), w.away())
	}
	return commit, err
}
