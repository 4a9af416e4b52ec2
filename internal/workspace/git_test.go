//go:build unix

package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/workspace"
)

// What git on the host would obey is protected wherever it lies in the
// workspace and whatever it is called.
func TestGitIsFoundByWhatItIs(t *testing.T) {
	for name, tt := range map[string]struct {
		tree map[string]string
		want []string // beside the fixed names
	}{
		"a .git file that points to a folder": {
			map[string]string{".git": "gitdir: ./.bare\n", ".bare/config": ""}, []string{".bare"}},
		"a nested .git file that points up": {
			map[string]string{".git/x": "", "sub/.git": "gitdir: ../gits/sub\n", "gits/sub/config": ""}, []string{"gits/sub", "sub/.git"}},
		"a work tree with a common folder": {
			map[string]string{".git": "gitdir: main.git/worktrees/a\n", "main.git/worktrees/a/commondir": "../..\n", "main.git/config": ""}, []string{"main.git"}},
		"a bare repository": {
			map[string]string{".git/x": "", "mirror/HEAD": "ref", "mirror/objects/x": "", "mirror/refs/x": ""}, []string{"mirror"}},
		"hooks in the work tree": {
			map[string]string{".git/config": "[core]\n\thooksPath = tools/hooks\n", "tools/hooks/pre-commit": ""}, []string{"tools/hooks"}},
		"an included file": {
			map[string]string{".git/config": "[include]\n\tpath = ../team.gitconfig\n", "team.gitconfig": ""}, []string{"team.gitconfig"}},
		"paths that lead out are not ours": {
			map[string]string{".git/config": "[core]\n\thooksPath = ../../evil\n[include]\n\tpath = ~/x\n"}, nil},
		"HEAD alone is no repository": {
			map[string]string{".git/x": "", "docs/HEAD": "text"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir, state := tempDir(t), tempDir(t)
			fill(t, dir, tt.tree)
			w, err := workspace.Claim(t.Context(), state, dir, "test", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Release()
			var got []string
			for _, p := range w.Protect {
				if !slices.Contains(workspace.Protected(), p) {
					got = append(got, p)
				}
			}
			if slices.Sort(got); !slices.Equal(got, tt.want) {
				t.Errorf("protects %q beside the fixed names, want %q", got, tt.want)
			}
		})
	}
}

// A file that gives whoever runs it its owner's rights is not the agent's to write.
func TestSetuidFilesAreProtected(t *testing.T) {
	dir, state := tempDir(t), tempDir(t)
	fill(t, dir, map[string]string{"bin/plain": "", "bin/root": "", "bin/group": ""})
	for name, mode := range map[string]os.FileMode{"root": os.ModeSetuid | 0o755, "group": os.ModeSetgid | 0o755} {
		if err := os.Chmod(filepath.Join(dir, "bin", name), mode); err != nil {
			t.Fatal(err)
		}
	}
	w, err := workspace.Claim(t.Context(), state, dir, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Release()
	for name, want := range map[string]bool{"bin/plain": false, "bin/root": true, "bin/group": true} {
		if got := slices.Contains(w.Protect, name); got != want {
			t.Errorf("%s is protected: %v", name, got)
		}
	}
}

// A link in the place of a git directory, and a folder that cannot be searched,
// are refused: what they hide would be the agent's.
func TestGitThatCannotBeProtectedIsRefused(t *testing.T) {
	for name, prepare := range map[string]func(dir string) error{
		"a nested .git that is a link": func(dir string) error {
			return errors.Join(os.MkdirAll(filepath.Join(dir, "sub"), 0o755), os.Symlink("../elsewhere", filepath.Join(dir, "sub", ".git")))
		},
		"a folder without the right to list it": func(dir string) error {
			return os.Mkdir(filepath.Join(dir, "sub"), 0o300)
		},
	} {
		t.Run(name, func(t *testing.T) {
			if os.Geteuid() == 0 && strings.Contains(name, "right to list") {
				t.Skip("root may list every folder")
			}
			dir, state := tempDir(t), tempDir(t)
			if err := prepare(dir); err != nil {
				t.Fatal(err)
			}
			_, err := workspace.Claim(t.Context(), state, dir, "test", nil)
			var refused *sandbox.RefusedError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), "sub") {
				t.Errorf("error is %v, want a refusal that names sub", err)
			}
		})
	}
}

// The agent may change the mode of the folder itself; it is given back.
func TestModeOfTheFolderIsGivenBack(t *testing.T) {
	for _, mode := range []os.FileMode{0o555, 0o777, 0o100} {
		dir, state := tempDir(t), tempDir(t)
		if err := os.Chmod(dir, 0o750); err != nil {
			t.Fatal(err)
		}
		w, err := workspace.Claim(t.Context(), state, dir, "test", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if err := w.Release(); err != nil {
			t.Errorf("mode %o: %v", mode, err)
		}
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm() != 0o750 {
			t.Errorf("after mode %o it is %v, %v", mode, info.Mode(), err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left after mode %o: %v", mode, left)
		}
	}
}
