package layout_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/layout"
)

// TestClonesFollowTheirEntry shows the same folder twice, once read-only: what is
// pinned in the writable one must not come from the read-only one.
func TestClonesFollowTheirEntry(t *testing.T) {
	source := t.TempDir()
	if err := os.MkdirAll(filepath.Join(source, "data", "kept"), 0o755); err != nil {
		t.Fatal(err)
	}
	spec := sandbox.Spec{Mounts: []sandbox.Mount{
		{Source: source, Target: "/w", Protect: []string{filepath.Join("data", "kept")}},
		{Source: filepath.Join(source, "data"), Target: "/d", ReadOnly: true},
	}}
	mounts, err := layout.Build(t.TempDir(), spec, sandbox.User{UID: 7, GID: 7}, os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	places := t.TempDir()
	clones, mounts, err := layout.Clones(places, spec, mounts)
	if err != nil {
		t.Fatal(err)
	}
	if len(clones) != 2 || clones[0].ReadOnly || !clones[1].ReadOnly {
		t.Fatalf("got clones %+v", clones)
	}
	want := map[string]string{
		"/w":           filepath.Join(places, "0"),
		"/w/data":      filepath.Join(places, "0", "data"),
		"/w/data/kept": filepath.Join(places, "0", "data", "kept"),
		"/d":           filepath.Join(places, "1"),
	}
	for _, m := range mounts {
		if m.User && m.Source != want[m.Target] {
			t.Errorf("%s is mounted from %s, want %s", m.Target, m.Source, want[m.Target])
		}
		delete(want, m.Target)
	}
	if len(want) > 0 {
		t.Errorf("not mounted: %v", want)
	}
}

// TestClonePlaces has a folder for a folder and a file for a file, or the clone
// could not cover it.
func TestClonePlaces(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	spec := sandbox.Spec{Mounts: []sandbox.Mount{{Source: dir, Target: "/dir"}, {Source: file, Target: "/file"}}}
	clones, _, err := layout.Clones(t.TempDir(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, wantDir := range []bool{true, false} {
		if info, err := os.Stat(clones[i].Target); err != nil || info.IsDir() != wantDir {
			t.Errorf("place of %s: %v, %v", clones[i].Source, info, err)
		}
	}
	if _, _, err := layout.Clones(t.TempDir(), sandbox.Spec{Mounts: []sandbox.Mount{{Source: filepath.Join(dir, "missing")}}}, nil); err == nil {
		t.Error("a mount that is not there is cloned")
	}
}
