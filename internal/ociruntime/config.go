package ociruntime

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxConfig is more than any configuration of Docker is long.
const maxConfig = 1 << 20

// backupSuffix ends the name of Docker's configuration as it was.
const backupSuffix = ".before-ralph"

// dockerConfig is Docker's daemon.json. Of all its members only the runtime of
// our name is looked at; the rest keeps its place and its words.
type dockerConfig struct {
	file    string // empty: there is none, and nothing is written
	mode    fs.FileMode
	before  []byte // as it was read; nil: the file does not exist
	members object
}

// readConfig reads what is there. A link is refused: replacing it would cut it
// off from the file that somebody keeps elsewhere.
func readConfig(file string) (*dockerConfig, error) {
	c := &dockerConfig{file: file, mode: 0o644}
	if file == "" {
		return c, nil
	}
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err != nil:
		return nil, fmt.Errorf("reading Docker's configuration: %w", err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, fmt.Errorf("the configuration of Docker %s is a link; name the file that it leads to", file)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("the configuration of Docker %s is not a file", file)
	}
	c.mode = info.Mode().Perm()
	if c.before, err = readUpTo(file, maxConfig); err != nil {
		return nil, fmt.Errorf("reading Docker's configuration: %w", err)
	}
	if c.members, err = parseObject(c.before); err != nil {
		return nil, fmt.Errorf("the configuration of Docker %s is not understood, and nothing was changed: %w", file, err)
	}
	return c, nil
}

func readUpTo(file string, limit int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("%s is longer than %d bytes", file, limit)
	}
	return content, err
}

// runtime is an entry of Docker's list.
type runtime struct {
	Path string                    `json:"path,omitzero"`
	Rest map[string]jsontext.Value `json:",embed"` //nolint:staticcheck // an option of the second version
}

func (r *runtime) String() string {
	if r.Path == "" || len(r.Rest) > 0 {
		return r.Path + " with settings of its own"
	}
	return r.Path
}

// runtimes is the list of runtimes, and the entry of our name in it, if any.
func (c *dockerConfig) runtimes() (all object, ours *runtime, err error) {
	value, ok := c.members.get("runtimes")
	if !ok {
		return nil, nil, nil
	}
	if all, err = parseObject(value); err != nil {
		return nil, nil, fmt.Errorf("the runtimes in %s are not understood: %w", c.file, err)
	}
	if value, ok = all.get(Name); !ok {
		return all, nil, nil
	}
	ours = new(runtime)
	if value.Kind() != '{' {
		err = errors.New("it is not a JSON object")
	} else {
		err = json.Unmarshal(value, ours)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the runtime %s in %s is not understood: %w", Name, c.file, err)
	}
	return all, ours, nil
}

// path is the program that Docker knows by our name, if it does.
func (c *dockerConfig) path() (string, error) {
	_, ours, err := c.runtimes()
	if ours == nil {
		return "", err
	}
	return ours.Path, nil
}

// enter names the runtime. It says false when it is named already.
func (c *dockerConfig) enter(path string, force bool) (changed bool, err error) {
	all, ours, err := c.runtimes()
	if err != nil {
		return false, err
	}
	switch {
	case ours != nil && ours.Path == path && len(ours.Rest) == 0:
		return false, nil
	case ours != nil && !force:
		return false, &ExistsError{fmt.Sprintf("%s names another runtime %s already: %s", c.file, Name, ours)}
	}
	entry, err := json.Marshal(runtime{Path: path})
	if err != nil {
		return false, err
	}
	return true, c.setRuntimes(all.with(Name, entry))
}

// leave takes the runtime out. It says false when Docker does not know ours.
func (c *dockerConfig) leave(path string) (changed bool, err error) {
	all, ours, err := c.runtimes()
	if err != nil || ours == nil || ours.Path != path {
		return false, err
	}
	if value, ok := c.members.get("default-runtime"); ok {
		var name string
		if err := json.Unmarshal(value, &name); err != nil || name == Name {
			return false, fmt.Errorf("%s is the default runtime in %s; choose another one first", Name, c.file)
		}
	}
	return true, c.setRuntimes(all.without(Name))
}

func (c *dockerConfig) setRuntimes(all object) error {
	if len(all) == 0 {
		c.members = c.members.without("runtimes")
		return nil
	}
	value, err := all.encode()
	c.members = c.members.with("runtimes", value)
	return err
}

// save writes the configuration, and keeps it as it was before the first change
// beside it.
func (c *dockerConfig) save() (backup string, err error) {
	content, err := c.members.encode()
	if err != nil {
		return "", fmt.Errorf("writing Docker's configuration: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(c.file), 0o755); err != nil {
		return "", fmt.Errorf("writing Docker's configuration: %w", err)
	}
	backup = c.file + backupSuffix
	switch {
	case c.before == nil:
		backup = ""
	case !exists(backup):
		if err := replace(backup, bytes.NewReader(c.before), c.mode); err != nil {
			return "", fmt.Errorf("keeping Docker's configuration as it was: %w", err)
		}
	}
	if err := replace(c.file, bytes.NewReader(append(content, '\n')), c.mode); err != nil {
		return backup, fmt.Errorf("writing Docker's configuration: %w", err)
	}
	return backup, nil
}

// restore writes the configuration without the runtime. Where nothing else was
// changed since, it is again what it was, to the byte, or gone.
func (c *dockerConfig) restore() error {
	backup := c.file + backupSuffix
	before, err := readUpTo(backup, maxConfig)
	old, parseErr := parseObject(before)
	switch {
	case errors.Is(err, fs.ErrNotExist) && len(c.members) == 0:
		err = os.Remove(c.file)
	case err == nil && parseErr == nil && old.equal(c.members):
		err = os.Rename(backup, c.file)
	default:
		_, err = c.save()
	}
	if err != nil {
		return fmt.Errorf("restoring Docker's configuration: %w", err)
	}
	return nil
}
