//go:build linux

package machine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/sandboxtest"
)

func TestCheckStatic(t *testing.T) {
	static, remove, err := sandboxtest.Build("../sandboxtest/testdata/guest")
	if err != nil {
		t.Skip(err) // another user may have no Go
	}
	defer remove()
	if err := CheckStatic("engine", static); err != nil {
		t.Errorf("a static program: %v", err)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{text, text + ".missing"} {
		if err := CheckStatic("engine", path); err == nil {
			t.Errorf("%s passed for a static program", path)
		}
	}
}

func TestCheckStaticRefusesDynamic(t *testing.T) {
	var unavailable *sandbox.UnavailableError
	if err := CheckStatic("engine", "/bin/sh"); !errors.As(err, &unavailable) || unavailable.Hint() == "" {
		t.Errorf("got %v", err)
	}
}

func TestReadable(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "program")
	for mode, copied := range map[os.FileMode]bool{0o755: false, 0o775: false, 0o700: true, 0o750: true, 0o711: true} {
		if err := errors.Join(os.WriteFile(path, []byte("code"), 0o700), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		want := path
		if copied {
			want = filepath.Join(state, "ralph")
		}
		got, err := Readable(path, state)
		if err != nil || got != want {
			t.Errorf("%v: got %s, %v; want %s", mode, got, err, want)
		}
		if data, err := os.ReadFile(got); err != nil || string(data) != "code" || perm(t, got)&0o005 != 0o005 {
			t.Errorf("%v: the copy holds %q, %v", mode, data, err)
		}
	}
	if _, err := Readable(path+".missing", state); err == nil {
		t.Error("a program that is not there was found")
	}
}

func perm(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}
