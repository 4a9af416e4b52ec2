package layout

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agent-loop/ralph/internal/sandbox"
)

func TestInsideOther(t *testing.T) {
	for _, tt := range []struct {
		target string
		others []string
		want   bool
	}{
		{"/w/data", []string{"/w"}, true},
		{"/w/a/b", []string{"/x", "/w/a"}, true},
		{"/w", []string{"/w/data"}, false}, // it holds the other one
		{"/workspace", []string{"/w"}, false},
		{"/w", nil, false},
	} {
		m := sandbox.Mount{Target: tt.target}
		spec := sandbox.Spec{Mounts: []sandbox.Mount{m}}
		for _, other := range tt.others {
			spec.Mounts = append(spec.Mounts, sandbox.Mount{Target: other})
		}
		if got := insideOther(m, spec); got != tt.want {
			t.Errorf("%s in %q: %v", tt.target, tt.others, got)
		}
	}
}

// Every folder above a protected path is a mount of its own, once, before what
// lies in it. What lies in a protected folder needs none.
func TestUserMountsPinTheWay(t *testing.T) {
	source := t.TempDir()
	files(t, source, "a/b/.git/config", "a/c", ".git/")
	m := sandbox.Mount{Source: source, Target: "/w", Protect: []string{".git", "a/b/.git", "a/b/.git/config", "a/c"}}
	got, err := userMounts(m, agent)
	must(t, err)
	var want []Mount
	for _, place := range []struct {
		name            string
		readOnly, empty bool
	}{
		{".", false, false},
		{".git", true, true},
		{"a", false, false},
		{"a/b", false, false},
		{"a/b/.git", true, false},
		{"a/c", true, false},
	} {
		target := "/w"
		if place.name != "." {
			target += "/" + place.name
		}
		want = append(want, Mount{
			Source: filepath.Join(source, place.name), Target: target,
			ReadOnly: place.readOnly, Empty: place.empty, User: true, Owner: agent,
		})
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%+v, want\n%+v", got, want)
	}
}

// Folders on the way to what is protected in a read-only mount are no way to
// write to it.
func TestReadOnlyMountsStaySo(t *testing.T) {
	mounts, err := userMounts(sandbox.Mount{Source: t.TempDir(), Target: "/w", ReadOnly: true, Protect: []string{"a/b"}}, agent)
	must(t, err)
	if len(mounts) != 3 || slices.ContainsFunc(mounts, func(m Mount) bool { return !m.ReadOnly }) {
		t.Errorf("got %+v", mounts)
	}
}

func TestMountsThatCannotBe(t *testing.T) {
	for name, m := range map[string]sandbox.Mount{
		"no source":          {Source: filepath.Join(t.TempDir(), "missing"), Target: "/w"},
		"protected outside":  {Source: t.TempDir(), Target: "/w", Protect: []string{"../x"}},
		"protected absolute": {Source: t.TempDir(), Target: "/w", Protect: []string{"/etc"}},
	} {
		if mounts, err := Build(t.TempDir(), sandbox.Spec{Mounts: []sandbox.Mount{m}}, agent, "/host/ralph"); err == nil {
			t.Errorf("%s: %+v", name, mounts)
		}
	}
}

func TestIsEmpty(t *testing.T) {
	dir := t.TempDir()
	files(t, dir, "folder/", "full/file", "text")
	must(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o644))
	for name, want := range map[string]bool{"folder": true, "full": false, "text": false, "empty": true, "missing": false} {
		if got := isEmpty(filepath.Join(dir, name)); got != want {
			t.Errorf("%s is empty: %v", name, got)
		}
	}
}
