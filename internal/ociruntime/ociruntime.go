// Package ociruntime makes a copy of this program known to container engines as
// the OCI runtime `runsc`: the file that they run as root, and the entry in
// Docker's configuration that names it. It changes nothing else of either.
package ociruntime

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Name is what the runtime is called, by Docker and as a file.
const Name = "runsc"

// Place says where the runtime goes and who is told of it.
type Place struct {
	Dir          string // the folder of the runtime
	DockerConfig string // Docker's daemon.json; empty: Docker is not told
}

// Path is the file of the runtime.
func (p Place) Path() string { return filepath.Join(p.Dir, Name) }

// Change is what was done.
type Change struct {
	Path         string `json:"path"`
	DockerConfig string `json:"docker_config,omitempty"`
	Backup       string `json:"backup,omitempty"` // Docker's configuration as it was before the first change
	Binary       bool   `json:"binary_changed"`
	Config       bool   `json:"config_changed"`
}

// ExistsError means that something else is where the runtime would be.
type ExistsError struct{ What string }

func (e *ExistsError) Error() string { return e.What }

// Install copies the program at binary into its place and names it in Docker's
// configuration. What is there and not ours is replaced only with force. Nothing
// is written when the configuration cannot be understood.
func Install(p Place, binary string, force bool) (Change, error) {
	change := Change{Path: p.Path(), DockerConfig: p.DockerConfig}
	if err := p.check(); err != nil {
		return change, err
	}
	config, err := readConfig(p.DockerConfig)
	if err != nil {
		return change, err
	}
	entered, err := config.enter(p.Path(), force)
	if err != nil {
		return change, err
	}
	if err := mayReplace(p.Path(), force); err != nil {
		return change, err
	}
	if change.Binary, err = placeBinary(p, binary); err != nil {
		return change, fmt.Errorf("placing the runtime: %w", err)
	}
	if !entered || p.DockerConfig == "" {
		return change, nil
	}
	change.Backup, err = config.save()
	change.Config = err == nil
	return change, err
}

// Remove takes back what Install did: the entry in Docker's configuration, if it
// names our runtime, and the runtime itself. What is not ours stays.
func Remove(p Place) (Change, error) {
	change := Change{Path: p.Path(), DockerConfig: p.DockerConfig}
	if err := p.check(); err != nil {
		return change, err
	}
	config, err := readConfig(p.DockerConfig)
	if err != nil {
		return change, err
	}
	left, err := config.leave(p.Path())
	if err != nil {
		return change, err
	}
	if left {
		if err := config.restore(); err != nil {
			return change, err
		}
		change.Config = true
	}
	switch err := mayReplace(p.Path(), false); {
	case err != nil:
		return change, err
	case !exists(p.Path()):
		return change, nil
	}
	if err := os.Remove(p.Path()); err != nil {
		return change, fmt.Errorf("removing the runtime: %w", err)
	}
	_ = os.Remove(p.Dir) // only if it is empty
	change.Binary = true
	return change, nil
}

// State is what is there.
type State struct {
	Path         string `json:"path"`
	Installed    bool   `json:"installed"` // the file is there and a ralph
	Current      bool   `json:"current"`   // and the same ralph as this one
	DockerConfig string `json:"docker_config,omitempty"`
	Docker       string `json:"docker_runtime,omitempty"` // the path that Docker knows as runsc
	Named        bool   `json:"named"`                    // Docker's configuration names our file
}

// Look tells what is installed; binary is the program that it should be a copy of.
func Look(p Place, binary string) (State, error) {
	s := State{Path: p.Path(), DockerConfig: p.DockerConfig}
	if err := p.check(); err != nil {
		return s, err
	}
	config, err := readConfig(p.DockerConfig)
	if err != nil {
		return s, err
	}
	if s.Docker, err = config.path(); err != nil {
		return s, err
	}
	s.Named = s.Docker == p.Path()
	s.Installed = isRalph(p.Path())
	if s.Installed {
		s.Current, err = sameContent(p.Path(), binary)
	}
	return s, err
}

func (p Place) check() error {
	if !filepath.IsAbs(p.Dir) {
		return fmt.Errorf("the folder of the runtime %q is not an absolute path", p.Dir)
	}
	if p.DockerConfig != "" && !filepath.IsAbs(p.DockerConfig) {
		return fmt.Errorf("the configuration of Docker %q is not an absolute path", p.DockerConfig)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
