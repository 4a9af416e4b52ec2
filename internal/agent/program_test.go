package agent

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"testing"
)

// host is one with these files: path -> the first bytes, or where a link leads.
type host struct {
	files, links map[string]string
	path         map[string]string
}

func (h host) look() Host {
	exists := func(path string) (string, error) {
		if to, ok := h.links[path]; ok {
			path = to
		}
		if _, ok := h.files[path]; !ok {
			return "", fs.ErrNotExist
		}
		return path, nil
	}
	return Host{
		Home: "/home/u", Self: "/usr/bin/ralph", Resolve: exists,
		LookPath: func(name string) (string, error) {
			if p, ok := h.path[name]; ok {
				return p, nil
			}
			return "", fs.ErrNotExist
		},
		Head: func(path string) ([]byte, error) { return []byte(h.files[path]), nil },
	}
}

func TestFindProgram(t *testing.T) {
	const (
		elf    = "\x7fELF"
		script = "#!/usr/bin/env node\n"
		lib    = "/usr/lib/node_modules/"
		triple = "vendor/x86_64-unknown-linux-musl"
	)
	node := map[string]string{"node": "/usr/bin/node"}
	for _, test := range []struct {
		name, agent string
		host        host
		want        Program
		argv        []string
	}{
		{
			"one native file, by a link", "claude",
			host{
				files: map[string]string{"/home/u/.local/share/claude/versions/2.1": elf},
				links: map[string]string{"/home/u/.local/bin/claude": "/home/u/.local/share/claude/versions/2.1"},
			},
			Program{Path: "/home/u/.local/share/claude/versions/2.1", Folder: "/home/u/.local/share/claude/versions/2.1"},
			[]string{"/opt/a/2.1"},
		},
		{
			"the PATH comes first", "claude",
			host{
				files: map[string]string{"/usr/bin/claude": elf, "/home/u/.local/bin/claude": elf},
				path:  map[string]string{"claude": "/usr/bin/claude"},
			},
			Program{Path: "/usr/bin/claude", Folder: "/usr/bin/claude"},
			[]string{"/opt/a/claude"},
		},
		{
			"a script with node", "gemini",
			host{
				files: map[string]string{lib + "@google/gemini-cli/dist/index.js": script, "/usr/bin/node": elf},
				links: map[string]string{"/usr/bin/gemini": lib + "@google/gemini-cli/dist/index.js"},
				path:  map[string]string{"gemini": "/usr/bin/gemini", "node": node["node"]},
			},
			Program{Path: lib + "@google/gemini-cli/dist/index.js", Folder: lib + "@google/gemini-cli", Node: "/usr/bin/node"},
			[]string{"/opt/a/node", "/opt/a/gemini-cli/dist/index.js"},
		},
		{
			"codex behind its script", "codex",
			host{
				files: map[string]string{lib + "@openai/codex/bin/codex.js": script, lib + "@openai/codex/node_modules/@openai/codex-linux-x64/" + triple + "/bin/codex": elf},
				links: map[string]string{"/usr/bin/codex": lib + "@openai/codex/bin/codex.js"},
				path:  map[string]string{"codex": "/usr/bin/codex"},
			},
			Program{
				Path:   lib + "@openai/codex/node_modules/@openai/codex-linux-x64/" + triple + "/bin/codex",
				Folder: lib + "@openai/codex/node_modules/@openai/codex-linux-x64/" + triple,
			},
			[]string{"/opt/a/x86_64-unknown-linux-musl/bin/codex"},
		},
		{
			"mini is ralph itself", "mini", host{},
			Program{Path: "/usr/bin/ralph", Folder: "/usr/bin/ralph"}, []string{"/opt/a/ralph"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if filepath.Separator != '/' {
				t.Skip("the paths are those of a Unix host")
			}
			who, _ := Find(test.agent)
			got, err := who.FindProgram(test.host.look())
			if err != nil || got != test.want {
				t.Fatalf("%+v, %v; want %+v", got, err, test.want)
			}
			mounts, argv := got.Inside("/opt/a")
			if !slices.Equal(argv, test.argv) || mounts[0].Host != got.Folder || (len(mounts) == 2) != (got.Node != "") {
				t.Errorf("%q, %+v; want %q", argv, mounts, test.argv)
			}
		})
	}
}

// TestFindProgramMissing: the error brings the command that helps.
func TestFindProgramMissing(t *testing.T) {
	for _, name := range []string{"claude", "codex", "opencode", "gemini"} {
		who, _ := Find(name)
		_, err := who.FindProgram(host{}.look())
		var missing *MissingError
		if !errors.As(err, &missing) || missing.Install == "" || missing.Agent != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	command, _ := Find("command")
	if _, err := command.FindProgram(host{}.look()); err == nil {
		t.Error("a command has no program on the host")
	}
}

// TestFindProgramRefuses a script that could need anything of the host.
func TestFindProgramRefuses(t *testing.T) {
	who, _ := Find("claude")
	wrapper := host{files: map[string]string{"/home/u/.local/bin/claude": "#!/bin/sh\n"}}
	if got, err := who.FindProgram(wrapper.look()); err == nil {
		t.Errorf("%+v", got)
	}
}
