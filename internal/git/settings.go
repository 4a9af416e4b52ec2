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

// written says how a setting that decides how files are written may be set. None of
// them can name a program.
func written(key, value string) bool {
	switch key {
	case "core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode", "core.longpaths", "core.trustctime":
		return isBool(value)
	case "core.autocrlf":
		return isBool(value) || value == "input"
	case "core.eol":
		return slices.Contains([]string{"lf", "crlf", "native"}, value)
	case "core.checkstat":
		return value == "default" || value == "minimal"
	}
	return false
}

const writtenKeys = `^core\.(filemode|symlinks|ignorecase|precomposeunicode|longpaths|trustctime|autocrlf|eol|checkstat|sparsecheckout)$`

func isBool(value string) bool {
	return isNo(value) || slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(value))
}

// readSettings reads, as data, how the user wants files to be written, and who the
// user is.
func (a *applying) readSettings(ctx context.Context) error {
	user, err := a.userConfig(ctx, a.Getenv)
	if err != nil {
		return err
	}
	settings, err := a.writtenSettings(ctx, user)
	if err != nil {
		return err
	}
	attributes, err := a.attributes(ctx, user)
	if err != nil {
		return err
	}
	// A split index is read where it is, for its other half lies beside the copy. It is
	// written whole: a new half would be written to the view.
	settings = slices.Concat(closedConfig(), [][2]string{{"core.bare", "false"}, {"core.splitIndex", "false"}, {"core.attributesFile", attributes}}, settings)
	a.config = configEnv(settings)
	return a.readIdentity(ctx, user)
}

// writtenSettings collects them from the user's files, the repository's and the work
// tree's. The last word counts.
func (a *applying) writtenSettings(ctx context.Context, user *userConfig) ([][2]string, error) {
	query := []string{"--null", "--get-regexp", writtenKeys}
	own, err1 := user.query(ctx, query...)
	shared, err2 := a.repo.config(ctx, query...)
	tree, err3 := a.repo.treeConfig(ctx, query...)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	values := map[string]string{}
	for _, item := range slices.Concat(splitNul(own), splitNul(shared), splitNul(tree)) {
		key, value, given := strings.Cut(item, "\n")
		if !given {
			value = "true" // a key alone
		}
		values[strings.ToLower(key)] = value
	}
	if sparse, ok := values["core.sparsecheckout"]; ok && !isNo(sparse) {
		return nil, refuse(a.repo.Top, "only a part of its files is checked out", "git merge "+a.ref(ctx))
	}
	delete(values, "core.sparsecheckout")
	var settings [][2]string
	for key, value := range values {
		if !written(key, value) {
			return nil, refuse(a.repo.Top, fmt.Sprintf("its setting %s is %q, which this ralph does not know", key, value), "git merge "+a.ref(ctx))
		}
		settings = append(settings, [2]string{key, value})
	}
	return settings, nil
}

// treeConfig asks the configuration file that a work tree may have of its own.
func (r *Repository) treeConfig(ctx context.Context, query ...string) (string, error) {
	on, err := r.setting(ctx, "extensions.worktreeConfig")
	if err != nil || on == "" || isNo(on) {
		return "", err
	}
	file := filepath.Join(r.Dir, "config.worktree")
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return r.git.configFile(ctx, file, query...)
}

// attributes names the user's own attributes file and gives the view the repository's.
// Attributes can say how lines end; a driver that they name exists in no
// configuration here.
func (a *applying) attributes(ctx context.Context, user *userConfig) (string, error) {
	info := filepath.Join(a.dir, "info")
	err := errors.Join(os.MkdirAll(info, 0o700), os.Symlink(filepath.Join(a.repo.Common, "info", "attributes"), filepath.Join(info, "attributes")))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("reading attributes: %w", err)
	}
	file, err := user.query(ctx, "--type=path", "--get", "core.attributesFile")
	if err != nil || file != "" {
		return file, err
	}
	if folder := configHome(a.Getenv); folder != "" {
		return filepath.Join(folder, "git", "attributes"), nil
	}
	return os.DevNull, nil
}

// readIdentity finds out who the user is. Without a commit to make it is for the log
// of the branch alone, where it may be missing.
func (a *applying) readIdentity(ctx context.Context, user *userConfig) (err error) {
	var refused *RefusedError
	a.who, err = a.repo.identity(ctx, user, a.Getenv)
	if errors.As(err, &refused) {
		a.who, a.nobody = Identity{Name: "ralph", Email: "ralph@localhost"}, err
		return nil
	}
	return err
}
