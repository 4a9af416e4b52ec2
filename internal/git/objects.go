package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// takeObjects brings the base and its history into the store.
//
// Packs are linked, so that a large repository is there at once and a gc of the
// user's does not take it away; nobody can write through the links, since sandboxes
// see them read-only. Of the loose objects only those of the base's history are
// taken: what was stashed, staged or dropped lies there too. Packs of unreachable
// objects are left out for the same reason.
func (s *Store) takeObjects(ctx context.Context, share bool) error {
	if !share {
		return s.packBase(ctx)
	}
	left, err := s.linkPacks()
	if err == nil && s.Repo.hasLoose() {
		err = s.packBase(ctx, "--unpacked", "--incremental")
	}
	if err != nil || !left || s.whole(ctx) {
		return err
	}
	return s.packBase(ctx)
}

// hasLoose tells whether objects lie in files of their own, in folders named by two
// digits.
func (r *Repository) hasLoose() bool {
	found, err := filepath.Glob(filepath.Join(r.Common, "objects/[0-9a-f][0-9a-f]"))
	return err != nil || len(found) > 0
}

// packBase packs the base's history, or what of it the flags choose.
func (s *Store) packBase(ctx context.Context, flags ...string) error {
	return s.Repo.with(func(v *view) error {
		c := v.call(slices.Concat([]string{"pack-objects", "--quiet", "--revs", "--delta-base-offset"}, flags, []string{filepath.Join(s.Objects(), "pack", "pack")})...)
		c.env = objectEnv(s.Objects(), filepath.Join(s.Repo.Common, "objects"))
		c.stdin, c.stdout = strings.NewReader(s.Base+"\n"), io.Discard
		if err := s.git.run(ctx, c); err != nil {
			return fmt.Errorf("taking the history of %s: %w", short(s.Base), err)
		}
		return nil
	})
}

// objectEnv has a git write objects to one folder, where its temporary files are as
// well, and read those of another too.
func objectEnv(own, other string) []string {
	return []string{"GIT_OBJECT_DIRECTORY=" + own, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted(other)}
}

// whole tells whether the base's history and its files are there. Old files are
// not looked for one by one: git keeps them with their commits.
func (s *Store) whole(ctx context.Context) bool {
	history, files := s.call("rev-list", "--quiet", s.Base), s.call("rev-list", "--quiet", "--objects", "--no-walk", s.Base)
	return s.git.run(ctx, history) == nil && s.git.run(ctx, files) == nil
}

// linkPacks links the repository's packs, or copies what cannot be linked. It tells
// whether it has left one out.
func (s *Store) linkPacks() (left bool, err error) {
	from, to := filepath.Join(s.Repo.Common, "objects/pack"), filepath.Join(s.Objects(), "pack")
	entries, err := os.ReadDir(from)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking at packs: %w", err)
	}
	names := map[string]bool{}
	for _, e := range entries {
		if e.Type().IsRegular() {
			names[e.Name()] = true
		}
	}
	for name := range names {
		pack, ok := strings.CutSuffix(name, ".pack")
		if !ok || !names[pack+".idx"] || names[pack+".mtimes"] {
			left = left || ok
			continue // half-written, or full of what nothing refers to
		}
		if names[pack+".promisor"] {
			return left, refuse(s.Repo.Common, "it is a partial clone, whose missing objects only its remote has", "git fetch --refetch --no-filter, or clone it whole")
		}
		if err := errors.Join(share(from, to, name), share(from, to, pack+".idx")); err != nil {
			return left, fmt.Errorf("sharing the pack %s: %w", name, err)
		}
	}
	return left, nil
}

// share makes a file be in another folder as well, the same one if possible.
func share(from, to, name string) error {
	source, target := filepath.Join(from, name), filepath.Join(to, name)
	err := os.Link(source, target)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	return copyFile(source, target)
}

// copyFile copies a file, whole or not at all.
func copyFile(source, target string) (err error) {
	in, err := os.Open(source)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(target), "tmp-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(out.Name()))
		}
	}()
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Chmod(0o444), out.Sync(), out.Close())
	if err != nil {
		return err
	}
	return os.Rename(out.Name(), target)
}

// short is how people write a commit.
func short(commit string) string { return commit[:min(len(commit), 12)] }
