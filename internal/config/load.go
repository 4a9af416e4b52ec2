package config

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// ProjectFile is the name of the file at the root of a project.
	ProjectFile = "ralph.toml"

	maxFileSize = 1 << 20
)

// Load reads one configuration file. A missing file is fs.ErrNotExist; all that
// is wrong with an existing one is an *Error. A workspace has been writable for
// agents, so a symbolic link or anything but a regular file is refused.
func Load(path string) (*Layer, error) {
	data, refused, err := readRegular(path)
	if err != nil {
		return nil, fmt.Errorf("reading configuration: %w", err)
	}
	if refused != "" {
		return nil, &Error{Problems: []Problem{{File: path, Message: refused}}}
	}
	return Parse(path, data)
}

// readRegular reads a file, or says why it refuses to.
func readRegular(path string) (data []byte, refused string, err error) {
	before, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, "", err
	case before.Mode()&fs.ModeSymlink != 0:
		return nil, "is a symbolic link; put the file itself here", nil
	case !before.Mode().IsRegular():
		return nil, "is not a regular file", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(before, now) {
		return nil, "was exchanged while it was opened", nil
	}
	data, err = io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if len(data) > maxFileSize {
		return nil, "is larger than " + FormatSize(maxFileSize), nil
	}
	return data, "", err
}

// UserFile is where the user's own file is looked for, or "" when the
// environment does not tell. %AppData% serves where there is no home.
func UserFile(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "ralph", "config.toml")
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "ralph", "config.toml")
	}
	if dir := getenv("AppData"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "ralph", "config.toml")
	}
	return ""
}

// Read loads the files of a project and of the user, joins them with the
// environment and the flags, and returns the result with its notes. Files that
// do not exist say nothing. The problems of all sources, and what they cannot both
// mean, are in one *Error.
func Read(dir string, getenv func(string) string, flags *Layer) (Config, []string, error) {
	var s Sources
	var all Error
	s.Flags = flags
	for _, source := range []struct {
		layer **Layer
		load  func() (*Layer, error)
	}{
		{&s.Project, func() (*Layer, error) { return Load(filepath.Join(dir, ProjectFile)) }},
		{&s.User, func() (*Layer, error) { return loadUser(UserFile(getenv)) }},
		{&s.Env, func() (*Layer, error) { return FromEnv(getenv) }},
	} {
		layer, err := source.load()
		if err := all.take(err); err != nil {
			return Config{}, nil, err
		}
		*source.layer = layer
	}
	all.Problems = append(all.Problems, s.contradictions()...)
	if len(all.Problems) > 0 {
		return Config{}, nil, &all
	}
	cfg, notes := Resolve(s)
	return cfg, notes, nil
}

// loadUser follows symbolic links: no agent can write the user's own file, and
// people keep it in a repository of their settings.
func loadUser(path string) (*Layer, error) {
	if path == "" {
		return nil, fs.ErrNotExist
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("reading configuration: %w", err)
	}
	return Load(real)
}
