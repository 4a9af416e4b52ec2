package sandboxtest

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/probe"
)

// attackWorkspace is a project that a sandbox works on.
type attackWorkspace struct {
	dir      string
	socket   string // a listening socket of the host in it
	listener *attackListener
	names    []string // what it held at first
}

// attackProtected are the paths that the guest must not change.
func attackProtected() []string {
	return []string{".git", "ralph.toml", ".ralph", ".agent-loop", "vendor/lib/.git"}
}

// newWorkspace lays out a project by plain writes: git itself plays no part.
func (h *attackHost) newWorkspace(t *testing.T, name string) *attackWorkspace {
	t.Helper()
	dir := filepath.Join(h.base, "runs", name)
	files := map[string]string{
		".git/HEAD":               "ref: refs/heads/main\n",
		".git/config":             "[core]\n\trepositoryformatversion = 0\n",
		".git/info/exclude":       "\n",
		".git/objects/info/packs": "\n",
		".git/refs/heads/main":    strings.Repeat("0", 40) + "\n",
		".ralph/state.json":       "{}\n",
		".agent-loop/Dockerfile":  "FROM scratch\n",
		"ralph.toml":              "[agent]\n",
		"main.go":                 "package main\n",
		"vendor/lib/lib.go":       "package lib\n",
		"vendor/lib/.git/config":  "[core]\n",
	}
	for path, content := range files {
		attackWrite(t, filepath.Join(dir, path), content, 0o644)
	}
	attackWrite(t, filepath.Join(dir, ".git/hooks/pre-commit"), "#!/bin/sh\nexit 0\n", 0o755)
	ws := &attackWorkspace{dir: dir, socket: filepath.Join(dir, "host.sock")}
	ws.listener = newAttackListener(t, "unix", ws.socket, string(h.facts.Secret))
	ws.names = ws.list(t)
	return ws
}

func (ws *attackWorkspace) list(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(ws.dir)
	if err != nil {
		t.Fatalf("listing the workspace: %v", err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// tidy takes away what a probe left in the open part of the workspace.
func (ws *attackWorkspace) tidy(t *testing.T) {
	t.Helper()
	for _, name := range ws.list(t) {
		if !slices.Contains(ws.names, name) {
			if err := os.RemoveAll(filepath.Join(ws.dir, name)); err != nil {
				t.Errorf("the host cannot clean up after the probe: %v", err)
			}
		}
	}
}

// attackDangerous finds files that would act on the host with somebody's rights.
func attackDangerous(dir string) []string {
	var list []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if bad := info.Mode() & (fs.ModeSetuid | fs.ModeSetgid | fs.ModeDevice); bad != 0 {
			list = append(list, fmt.Sprintf("%s is on the host now, with mode %v", path, info.Mode()))
		}
		return nil
	})
	if err != nil {
		list = append(list, fmt.Sprintf("looking through the workspace: %v", err))
	}
	return list
}

// attackState is what is at each path, in a form that can be compared.
type attackState map[string]string

// add records a tree: kinds, modes, owners' bits and contents.
func (s attackState) add(root string) {
	// An error is part of the state: a tree that cannot be read any more changed.
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		s[path] = info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			s[path] += fmt.Sprintf(" %x", sha256.Sum256(content))
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			s[path] += " to " + target
		}
		return nil
	})
	if err != nil {
		s["error of "+root] = err.Error()
	}
}

// addMade records what probes have made in a directory.
func (s attackState) addMade(dir string) {
	entries, _ := os.ReadDir(dir) // a directory we cannot read is nobody's target
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), probe.Prefix) {
			s[filepath.Join(dir, e.Name())] = "made by a probe"
		}
	}
}

// changes lists what differs now.
func (s attackState) changes(now attackState) []string {
	var list []string
	for path, was := range s {
		if is, ok := now[path]; !ok {
			list = append(list, fmt.Sprintf("%s is gone from the host", path))
		} else if is != was {
			list = append(list, fmt.Sprintf("%s changed on the host: %s, was %s", path, is, was))
		}
	}
	for path, is := range now {
		if _, ok := s[path]; !ok {
			list = append(list, fmt.Sprintf("%s is new on the host: %s", path, is))
		}
	}
	slices.Sort(list)
	return list
}
