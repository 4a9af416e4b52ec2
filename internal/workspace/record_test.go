//go:build unix

package workspace_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/workspace"
)

// damage turns the record of a dead claim into something else.
type damage func(t *testing.T, record workspace.Holder, other string) []byte

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// damages are records that no ralph writes. None may stand in the way of the
// next claim, and none may lead to the loss of a file.
func damages() map[string]damage {
	text := func(s string) damage { return func(*testing.T, workspace.Holder, string) []byte { return []byte(s) } }
	standIns := func(names ...string) damage {
		return func(t *testing.T, r workspace.Holder, _ string) []byte {
			r.StandIns = names
			return encode(t, r)
		}
	}
	return map[string]damage{
		"empty":      text(""),
		"nul bytes":  text(strings.Repeat("\x00", 4096)),
		"not json":   text("I am not JSON"),
		"null":       text("null"),
		"array":      text("[1,2,3]"),
		"too deep":   text(strings.Repeat("[", 20000)),
		"wrong type": text(`{"workspace":5,"pid":"x","stand_ins":"precious"}`),
		"half": func(t *testing.T, r workspace.Holder, _ string) []byte {
			data := encode(t, r)
			return data[:len(data)/2]
		},
		"huge": func(t *testing.T, r workspace.Holder, _ string) []byte {
			r.Command = strings.Repeat("x", 3<<20)
			return encode(t, r)
		},
		"another workspace": func(t *testing.T, r workspace.Holder, other string) []byte {
			r.Workspace = other
			return encode(t, r)
		},
		"the root": func(t *testing.T, r workspace.Holder, _ string) []byte {
			r.Workspace = "/"
			return encode(t, r)
		},
		"no workspace": func(t *testing.T, r workspace.Holder, _ string) []byte {
			r.Workspace = ""
			return encode(t, r)
		},
		"escaping":        standIns("../other/empty", "../other/.idea", "../../x", "sub/../../other/empty", ".."),
		"through a link":  standIns("out/empty", "out/.idea", "out", "in/empty", "in"),
		"itself":          standIns(".", "./", "", "/"),
		"odd names":       standIns("a\x00b", "a\nb", "\xff", strings.Repeat("x/", 5000)),
		"people's files":  standIns("main.go", "data.json", "sub", "sub/file", "out"),
		"below a file":    standIns("main.go/x", "main.go/"),
		"missing":         standIns("never/there", "nor.this"),
		"the same twice":  standIns("main.go", "main.go"),
		"nothing to undo": standIns(),
	}
}

func TestDamagedRecords(t *testing.T) {
	for name, damage := range damages() {
		t.Run(name, func(t *testing.T) {
			parent, state := tempDir(t), tempDir(t)
			dir, other := filepath.Join(parent, "dir"), filepath.Join(parent, "other")
			fill(t, parent, map[string]string{
				"dir/main.go": "package main", "dir/data.json": "{ }", "dir/sub/file": "precious",
				"dir/out": "->../other", "dir/in": "->sub", "dir/sub/empty/": "", "other/empty": "", "other/.idea/": "", "other/ralph.toml": "", "x": "",
			})
			claimFile := deadClaim(t, state, dir)
			removeStandIns(t, dir)
			before := snapshot(t, parent)

			for _, next := range []string{"claim", "prune"} {
				record := damage(t, workspace.Holder{Workspace: dir, PID: 1, StandIns: []string{".idea", "ralph.toml"}}, other)
				if err := os.WriteFile(claimFile, record, 0o600); err != nil {
					t.Fatal(err)
				}
				if next == "claim" {
					claimAndRelease(t, state, dir)
				} else {
					prune(t, state, dir)
				}
				wantSame(t, before, snapshot(t, parent))
				if files := claimFiles(t, state); len(files) > 0 {
					t.Errorf("after %s: %v was left behind", next, files)
				}
			}
		})
	}
}

// removeStandIns does by hand what the next ralph would: the tests are about
// the record alone.
func removeStandIns(t *testing.T, dir string) {
	t.Helper()
	for _, name := range workspace.Protected() {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func claimAndRelease(t *testing.T, state, dir string) {
	t.Helper()
	w, err := workspace.Claim(t.Context(), state, dir, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Release(); err != nil {
		t.Error(err)
	}
}

// prune may report the folder as cleaned, but no other one.
func prune(t *testing.T, state, dir string) {
	t.Helper()
	cleaned, err := workspace.Prune(state)
	if err != nil {
		t.Error(err)
	}
	for _, c := range cleaned {
		if c != dir {
			t.Errorf("cleaned %q", c)
		}
	}
}

// What is no claim file is nothing to Prune.
func TestPruneLeavesStrangersAlone(t *testing.T) {
	state := tempDir(t)
	fill(t, state, map[string]string{
		"workspaces/notes.txt":                      "mine",
		"workspaces/short.json":                     `{"workspace":"/"}`,
		"workspaces/0123456789abcdef01234567.json/": "",
		"workspaces/1123456789abcdef01234567.json":  "->notes.txt",
	})
	before := snapshot(t, state)
	if cleaned, err := workspace.Prune(state); err != nil || len(cleaned) > 0 {
		t.Errorf("cleaned %q, %v", cleaned, err)
	}
	wantSame(t, before, snapshot(t, state))
}
