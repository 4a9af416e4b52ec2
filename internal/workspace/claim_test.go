//go:build unix

package workspace_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/workspace"
)

// fixed is what every workspace protects, followed by more.
func fixed(more ...string) []string { return append(workspace.Protected(), more...) }

func TestClaimAndRelease(t *testing.T) {
	for name, tt := range map[string]struct {
		tree  map[string]string
		extra []string
		want  []string
	}{
		"empty":                {nil, nil, fixed()},
		"git directory":        {map[string]string{".git/config": "[core]", ".git/hooks/": ""}, nil, fixed()},
		"git file":             {map[string]string{".git": "gitdir: /elsewhere"}, nil, fixed()},
		"settings":             {map[string]string{"ralph.toml": "[agent]", ".envrc": "export A=1", ".mcp.json": "{}", ".vscode/tasks.json": "{}"}, nil, fixed()},
		"empty settings":       {map[string]string{"ralph.toml": "", ".envrc": "", ".idea/": ""}, nil, fixed()},
		"folder for a file":    {map[string]string{"ralph.toml/": "", ".vscode": "a file"}, nil, fixed()},
		"nested git directory": {map[string]string{"a/b/.git/config": "", "c/.git": "gitdir: x"}, nil, fixed("a/b/.git", "c/.git")},
		"git below git":        {map[string]string{".git/modules/m/.git/x": "", "a/.git/b/.git/x": ""}, nil, fixed("a/.git")},
		"git below protected":  {map[string]string{".vscode/ext/.git/config": "", "v/x/.git": "gitdir"}, []string{"v"}, fixed("v")},
		"like git":             {map[string]string{"a/.gitignore": "x", "a.git/HEAD": "ref", "git/x": ""}, nil, fixed()},

		"extra file":             {map[string]string{"Makefile": "all:"}, []string{"Makefile"}, fixed("Makefile")},
		"extra that is missing":  {nil, []string{"Makefile", "setup.cfg", "data.json"}, fixed("Makefile", "setup.cfg", "data.json")},
		"extra with missing way": {nil, []string{"a/b/c", "a/b/d.toml", "a.d/e"}, fixed("a/b/c", "a/b/d.toml", "a.d/e")},
		"extra with half a way":  {map[string]string{"a/x": "1"}, []string{"a/b/c"}, fixed("a/b/c")},
		"extra twice":            {nil, []string{"x", "./x", "x/", ".git"}, fixed("x")},
		"extra below another":    {nil, []string{"a/b", "a", ".git/hooks"}, fixed("a")},
		"extra nested git":       {map[string]string{"s/.git/x": ""}, []string{"s/.git"}, fixed("s/.git")},
		"extra with dots":        {nil, []string{"..x", "a/../b"}, fixed("..x", "b")},
	} {
		t.Run(name, func(t *testing.T) {
			dir, state := tempDir(t), tempDir(t)
			fill(t, dir, tt.tree)
			before := snapshot(t, dir)
			w, err := workspace.Claim(t.Context(), state, dir, "test", tt.extra)
			if err != nil {
				t.Fatal(err)
			}
			// Where there is no repository, nobody may make the folder one.
			noRepository := !slices.ContainsFunc(slices.Collect(maps.Keys(tt.tree)), func(p string) bool { return p == ".git" || strings.HasPrefix(p, ".git/") })
			got := slices.DeleteFunc(slices.Clone(w.Protect), func(p string) bool { return p == "HEAD" })
			if w.Dir != dir || !slices.Equal(got, tt.want) || slices.Contains(w.Protect, "HEAD") != noRepository {
				t.Errorf("claimed %s with %q, want %q", w.Dir, w.Protect, tt.want)
			}
			for _, path := range w.Protect {
				if info, err := os.Lstat(filepath.Join(dir, path)); err != nil || !info.IsDir() && !info.Mode().IsRegular() {
					t.Errorf("%s cannot be mounted: %v", path, err)
				}
			}
			if err := w.Release(); err != nil {
				t.Error(err)
			}
			wantSame(t, before, snapshot(t, dir))
			if files := claimFiles(t, state); len(files) > 0 {
				t.Errorf("%v was left behind", files)
			}
		})
	}
}

func TestClaimRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		tree  map[string]string
		extra string
		why   string
	}{
		"protected link":         {map[string]string{".vscode": "->elsewhere", "elsewhere/": ""}, "x", ".vscode in it is neither"},
		"git link":               {map[string]string{".git": "->/nowhere"}, "x", ".git in it is neither"},
		"last protected link":    {map[string]string{".husky": "->."}, "x", ".husky in it is neither"},
		"extra link":             {map[string]string{"x": "->y", "y": ""}, "x", "x in it is neither"},
		"extra below a link":     {map[string]string{"l": "->d", "d/x": ""}, "l/x", "l in it is neither"},
		"extra below link out":   {map[string]string{"l": "->/etc"}, "l/passwd", "l in it is neither"},
		"extra below a file":     {map[string]string{"f": ""}, "f/x", "f in it is neither"},
		"escaping":               {nil, "../x", "not a plain path"},
		"escaping in the middle": {nil, "a/../../x", "not a plain path"},
		"parent":                 {nil, "..", "not a plain path"},
		"absolute":               {nil, "/etc/passwd", "not a plain path"},
		"empty":                  {nil, "", "not a plain path"},
		"dot":                    {nil, ".", "not a plain path"},
		"dot in disguise":        {nil, "a/..", "not a plain path"},
		"dot and slash":          {nil, "./", "not a plain path"},
		"nul":                    {nil, "a\x00b", "not a plain path"},
		"newline":                {nil, "a\nb", "not a plain path"},
		"not text":               {nil, "a\xff", "not a plain path"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, state := tempDir(t), tempDir(t)
			fill(t, dir, tt.tree)
			before := snapshot(t, dir)
			_, err := workspace.Claim(t.Context(), state, dir, "test", []string{"made/first", tt.extra})
			var refused *sandbox.RefusedError
			if !errors.As(err, &refused) || !strings.Contains(refused.Why, tt.why) {
				t.Errorf("got %v, want a refusal with %q", err, tt.why)
			}
			wantSame(t, before, snapshot(t, dir))
			if files := claimFiles(t, state); len(files) > 0 {
				t.Errorf("%v was left behind", files)
			}
		})
	}
}

// A stand-in that cannot be made takes back those that could.
func TestClaimOfAnUnwritableFolder(t *testing.T) {
	dir, state := openTemp(t), openTemp(t)
	fill(t, dir, map[string]string{"open/": "", "closed/": ""})
	modes := map[string]os.FileMode{state: 0o777, dir: 0o777, filepath.Join(dir, "closed"): 0o555}
	for path, mode := range modes {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	var somebody *syscall.Credential // as root, nothing is unwritable
	if os.Geteuid() == 0 {
		somebody = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	for name, unwritable := range map[string]string{"itself": dir, "a folder on the way": filepath.Join(dir, "closed")} {
		t.Run(name, func(t *testing.T) {
			if err := os.Chmod(unwritable, 0o555); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(dir, 0o777) })
			before := snapshot(t, dir)
			h := newHolder(t, state, dir, somebody)
			if got := h.claim("test\topen/x,closed/x"); !strings.Contains(got, "protecting ") || !strings.Contains(got, "permission denied") {
				t.Errorf("the claim ended with %q", got)
			}
			wantSame(t, before, snapshot(t, dir))
			if files := claimFiles(t, state); len(files) > 0 {
				t.Errorf("%v was left behind", files)
			}
		})
	}
}

func TestReleaseKeepsWhatPeopleMade(t *testing.T) {
	dir, state := tempDir(t), tempDir(t)
	w, err := workspace.Claim(t.Context(), state, dir, "test", []string{"a/b/c"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, ".idea")); err != nil {
		t.Fatal(err)
	}
	mine := map[string]string{
		".git/config": "[core]", ".vscode/": "", ".vscode/tasks.json": "{}", "ralph.toml": "[agent]",
		".mcp.json": `{"a":1}`, ".envrc": "x", "a/b/other": "y", ".idea": "->nowhere",
	}
	fill(t, dir, mine)
	if err := w.Release(); err != nil {
		t.Error(err)
	}
	want := tempDir(t)
	fill(t, want, mine)
	if got, want := names(t, dir), names(t, want); !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
}

// names lists everything below dir.
func names(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	for path := range snapshot(t, dir) {
		all = append(all, strings.TrimPrefix(path, dir))
	}
	slices.Sort(all)
	return all
}

func TestReleaseWithoutTheFolder(t *testing.T) {
	parent, state := tempDir(t), tempDir(t)
	dir := filepath.Join(parent, "gone")
	fill(t, parent, map[string]string{"gone/": ""})
	w, err := workspace.Claim(t.Context(), state, dir, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := w.Release(); err != nil {
		t.Error(err)
	}
	if files := claimFiles(t, state); len(files) > 0 {
		t.Errorf("%v was left behind", files)
	}
}
