package sandboxtest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// testNamespace has a workspace at /space, another mount inside it, a read-only
// one, and links that lead in all directions.
func testNamespace(t testing.TB) *namespace {
	t.Helper()
	outer, inner, fixed := t.TempDir(), t.TempDir(), t.TempDir()
	for _, dir := range []string{"dir/sub", "locked", "inner"} {
		if err := os.MkdirAll(filepath.Join(outer, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"up": "../..", "host": "/etc", "loop": "loop", "out": outer, "fixed": "/fixed", "deep": "dir/sub/../../inner", "dir/back": "../locked",
	} {
		if err := os.Symlink(target, filepath.Join(outer, link)); err != nil {
			t.Fatal(err)
		}
	}
	n, err := newNamespace([]sandbox.Mount{
		{Source: outer, Target: "/space", Protect: []string{"locked"}},
		{Source: inner, Target: "/space/inner"},
		{Source: fixed, Target: "/fixed", ReadOnly: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.remove)
	return n
}

func TestNamespaceResolves(t *testing.T) {
	n := testNamespace(t)
	for guest, want := range map[string]string{
		"/space/dir":              "/space/dir",
		"/space//dir/./sub/":      "/space/dir/sub",
		"/space/new":              "/space/new",
		"/space/inner/x":          "/space/inner/x",
		"/space/deep/x":           "/space/inner/x",
		"/space/up/space":         "/space",
		"/../../tmp/x":            "/tmp/x",
		"/space/fixed/x":          "/fixed/x",
		"/space/dir/back/x":       "/space/locked/x",
		"/space/inner/../dir/sub": "/space/dir/sub",
	} {
		if p, err := n.resolve("test", guest, true); err != nil || p.guest != want {
			t.Errorf("%s leads to %q, %v, want %s", guest, p.guest, err, want)
		}
	}
}

func TestNamespaceRefuses(t *testing.T) {
	n := testNamespace(t)
	for _, tt := range []struct {
		what string
		err  error
		want error
	}{
		{"a link to the host", n.mkdir("/space/host/x"), syscall.ENOENT},
		{"a loop", n.mkdir("/space/loop/x"), syscall.ELOOP},
		{"a missing parent", n.mkdir("/space/missing/x"), syscall.ENOENT},
		{"the root", n.mkdir("/x"), syscall.EROFS},
		{"a read-only mount", n.mkdir("/fixed/x"), syscall.EROFS},
		{"a read-only mount by a link", n.mkdir("/space/fixed/x"), syscall.EROFS},
		{"a protected folder by a link", n.touch("/space/dir/back/x"), syscall.EROFS},
		{"moving a protected folder", n.rename("/space/locked", "/space/x"), syscall.EROFS},
		{"moving over a protected folder", n.rename("/space/dir", "/space/locked"), syscall.EROFS},
		{"moving a mount", n.rename("/space/inner", "/space/x"), syscall.EBUSY},
		{"moving what holds a mount", n.rename("/space", "/tmp/x"), syscall.EBUSY},
		{"removing a mount", n.unlink("/tmp"), syscall.EBUSY},
	} {
		if !errors.Is(tt.err, tt.want) {
			t.Errorf("%s: error is %v, want %v", tt.what, tt.err, tt.want)
		}
	}
}

// FuzzNamespaceStaysInside shows that no path, whatever links it goes through,
// leads to a file of the host that was not mounted, and that no error names one.
func FuzzNamespaceStaysInside(f *testing.F) {
	for _, seed := range []string{
		"/", "", ".", "..", "/space/up/up/up", "/space/host/passwd", "/space/out/dir", "/space/loop", "/space/deep/../..",
		"/tmp/../../../../etc/passwd", "/space/inner/../../space/dir/back/../..", "//space///up//", "/space/\x00", "/fixed/../space",
	} {
		f.Add(seed)
	}
	n := testNamespace(f)
	f.Fuzz(func(t *testing.T, guest string) {
		for _, follow := range []bool{true, false} {
			p, err := n.resolve("test", guest, follow)
			if err != nil {
				if strings.Contains(strings.ReplaceAll(err.Error(), guest, ""), n.private) {
					t.Errorf("the error shows the host: %v", err)
				}
				continue
			}
			inside := false
			for _, m := range n.mounts {
				rel, err := filepath.Rel(m.Source, p.host)
				inside = inside || err == nil && filepath.IsLocal(rel)
			}
			if !inside {
				t.Errorf("%q leads to %s", guest, p.host)
			}
		}
	})
}
