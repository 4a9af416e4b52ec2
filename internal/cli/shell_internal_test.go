//go:build unix

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// An agent can leave anything in the place of its settings. The next session gets
// its settings all the same, and nothing outside is read or written.
func TestSettingsOfAHostileAgent(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	for name, test := range map[string]struct {
		leave func(folder, file string) error
		seen  string // what of it is read
	}{
		"nothing":       {func(string, string) error { return nil }, ""},
		"settings":      {func(_, file string) error { return os.WriteFile(file, []byte("mine"), 0o644) }, "mine"},
		"a link out":    {func(_, file string) error { return os.Symlink(outside, file) }, ""},
		"a link inside": {func(_, file string) error { return os.Symlink("other", file) }, ""},
		"a folder": {func(_, file string) error {
			return os.MkdirAll(filepath.Join(file, "full", "of", "folders"), 0o755)
		}, ""},
		"a pipe": {func(_, file string) error { return syscall.Mkfifo(file, 0o644) }, ""},
		"too much": {func(_, file string) error {
			return os.WriteFile(file, bytes.Repeat([]byte("x"), maxSettings+1), 0o644)
		}, ""},
		"a locked folder": {func(folder, file string) error {
			if err := os.WriteFile(file, []byte("mine"), 0o644); err != nil {
				return err
			}
			return os.Chmod(folder, 0)
		}, "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(outside, []byte("a secret"), 0o600); err != nil {
				t.Fatal(err)
			}
			folder := filepath.Join(t.TempDir(), "sessions")
			file := filepath.Join(folder, "settings")
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := test.leave(folder, file); err != nil {
				t.Fatal(err)
			}
			seen := "not called"
			err := prepareFolder(folder, map[string]func([]byte) ([]byte, error){
				"settings": func(old []byte) ([]byte, error) { seen = string(old); return []byte("ours"), nil },
			})
			if err != nil || seen != test.seen {
				t.Errorf("read %q, want %q; %v", seen, test.seen, err)
			}
			if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o600 {
				t.Errorf("the settings are no plain file: %v, %v", info, err)
			}
			if text, err := os.ReadFile(file); string(text) != "ours" {
				t.Errorf("the settings are %q, %v", text, err)
			}
			if text, err := os.ReadFile(outside); string(text) != "a secret" {
				t.Errorf("outside is %q, %v", text, err)
			}
			if entries, _ := os.ReadDir(folder); len(entries) != 1 {
				t.Errorf("left in the folder: %v", entries)
			}
		})
	}
}

// Projects and agents have folders of their own.
func TestFolderName(t *testing.T) {
	name := func(project, agent string) string {
		s := &shell{plan: &plan{spec: runSpec{Project: project}}}
		s.who.Name = agent
		return s.folderName()
	}
	if a, b := name("/p", "claude"), name("/p", "claude"); a != b {
		t.Errorf("%s, then %s", a, b)
	}
	for _, other := range []string{name("/q", "claude"), name("/p", "codex")} {
		if other == name("/p", "claude") || filepath.Base(other) != other {
			t.Errorf("%s is not a name of its own", other)
		}
	}
}
