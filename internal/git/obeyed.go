package git

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
)

// obeyedKeys name files and folders that git obeys beside its configuration.
const obeyedKeys = `^(core\.hookspath|include\.path|includeif\..*\.path)$`

// Obeyed lists the paths of the work tree that the user's git obeys, because a
// configuration of the user's or of the repository names them, such as a folder of
// hooks that is part of the project.
func (r *Repository) Obeyed(ctx context.Context, getenv func(string) string) (paths []string, err error) {
	err = r.with(func(v *view) error {
		user, err := v.userConfig(ctx, getenv)
		if err != nil {
			return err
		}
		query := []string{"--null", "--get-regexp", obeyedKeys}
		own, err1 := user.query(ctx, query...)
		shared, err2 := r.config(ctx, query...)
		tree, err3 := r.treeConfig(ctx, query...)
		paths = append(r.inTree(own, r.Top), append(r.inTree(shared, r.Common), r.inTree(tree, r.Dir)...)...)
		return errors.Join(err1, err2, err3)
	})
	return paths, err
}

// inTree are the paths among settings that lie in the work tree. Hooks are looked for
// from its top, files that are included from the folder of the one that includes them.
func (r *Repository) inTree(settings, from string) (paths []string) {
	for _, item := range splitNul(settings) {
		key, value, _ := strings.Cut(item, "\n")
		dir := from
		if strings.EqualFold(key, "core.hooksPath") {
			dir = r.Top
		}
		rel, err := filepath.Rel(r.Top, absolute(dir, filepath.FromSlash(value)))
		if value != "" && err == nil && filepath.IsLocal(rel) && rel != "." {
			paths = append(paths, filepath.ToSlash(rel))
		}
	}
	return paths
}

// Fold is a path as the least careful of file systems sees it: two with the same fold
// may be one file.
func Fold(path string) string { return foldPath(path) }
