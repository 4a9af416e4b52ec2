package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// userConfig is the user's own configuration: that of the machine and of the person,
// with all that it includes, and nothing of a repository. It is read as data.
//
// The git that reads it is told which repository it is about, so that what the user
// includes for some folders only (includeIf "gitdir:...") counts there. Its
// configuration is that of the view all the same: GIT_COMMON_DIR leads there.
type userConfig struct {
	view *view
	file string // includes all the files
	env  []string
}

// userConfig finds the files where git would, in the environment of the user.
func (v *view) userConfig(ctx context.Context, getenv func(string) string) (*userConfig, error) {
	system, err := v.git.systemConfig(ctx, getenv)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	for _, file := range slices.Concat(system, globalConfig(getenv)) {
		fmt.Fprintf(&text, "[include]\n\tpath = %s\n", quoted(file))
	}
	u := &userConfig{view: v, file: filepath.Join(v.dir, "user.config")}
	u.env = append([]string{"GIT_DIR=" + v.repo.Dir, "GIT_COMMON_DIR=" + v.dir}, taken(getenv, "XDG_CONFIG_HOME")...)
	if home := homeOf(getenv); home != "" {
		u.env = append(u.env, "HOME="+home)
	}
	if err := os.WriteFile(u.file, []byte(text.String()), 0o600); err != nil {
		return nil, fmt.Errorf("reading the user's git configuration: %w", err)
	}
	return u, nil
}

// query asks it; empty: there is no such setting.
func (u *userConfig) query(ctx context.Context, query ...string) (string, error) {
	c := u.view.call(append([]string{"config", "--file", u.file, "--includes"}, query...)...)
	c.env = u.env
	out, err := u.view.git.line(ctx, c)
	if saidNo(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the user's git configuration: %w", err)
	}
	return out, nil
}

func (u *userConfig) get(ctx context.Context, key string) (string, error) {
	return u.query(ctx, "--get", key)
}

// globalConfig lists the user's files, the one that has the last word last.
func globalConfig(getenv func(string) string) []string {
	if file := getenv("GIT_CONFIG_GLOBAL"); file != "" {
		return absoluteFiles(file)
	}
	var files []string
	if folder := configHome(getenv); folder != "" {
		files = append(files, filepath.Join(folder, "git", "config"))
	}
	if home := homeOf(getenv); home != "" {
		files = append(files, filepath.Join(home, ".gitconfig"))
	}
	return files
}

// systemConfig lists the machine's files. Where git looks was settled when it was
// built, so all the usual places are named, as seen from its own programs; none of
// them can be written by others than the machine's administrators.
func (g *Git) systemConfig(ctx context.Context, getenv func(string) string) ([]string, error) {
	if off := getenv("GIT_CONFIG_NOSYSTEM"); off != "" && !isNo(off) {
		return nil, nil
	}
	if file := getenv("GIT_CONFIG_SYSTEM"); file != "" {
		return absoluteFiles(file), nil
	}
	programs, err := g.line(ctx, call{dir: os.TempDir(), args: []string{"--exec-path"}})
	if err != nil {
		return nil, err
	}
	return systemFiles(runtime.GOOS, filepath.Dir(filepath.Dir(filepath.FromSlash(programs)))), nil
}

// systemFiles are the places, for a git whose programs are in <prefix>/lib*/git-core.
func systemFiles(system, prefix string) []string {
	if system == "windows" {
		return []string{filepath.Join(filepath.Dir(prefix), "etc", "gitconfig")}
	}
	return []string{
		"/etc/gitconfig",
		filepath.Join(prefix, "share/git-core/gitconfig"), // Apple's
		filepath.Join(prefix, "../../../etc/gitconfig"),   // Homebrew's: Cellar/git/<version>
		filepath.Join(prefix, "etc/gitconfig"),            // one that was built by hand
	}
}

func absoluteFiles(file string) []string {
	if file, err := filepath.Abs(file); err == nil {
		return []string{file}
	}
	return nil
}

func homeOf(getenv func(string) string) string {
	if home := getenv("HOME"); home != "" || runtime.GOOS != "windows" {
		return home
	}
	return getenv("USERPROFILE")
}

func configHome(getenv func(string) string) string {
	if folder := getenv("XDG_CONFIG_HOME"); folder != "" {
		return folder
	}
	if home := homeOf(getenv); home != "" {
		return filepath.Join(home, ".config")
	}
	return ""
}

// taken are those of the named variables that are set.
func taken(getenv func(string) string, names ...string) []string {
	var env []string
	for _, name := range names {
		if value := getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func isNo(value string) bool {
	return slices.Contains([]string{"false", "no", "off", "0"}, strings.ToLower(value))
}
