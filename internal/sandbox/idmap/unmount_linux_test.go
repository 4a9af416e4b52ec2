package idmap_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/sandbox/idmap"
)

func TestUnmount(t *testing.T) {
	source, target := folders(t)
	write(t, source+"/file", owner, 0o644)
	clone(t, source, target, idmap.View{As: agent})
	clone(t, source, target, idmap.View{As: stranger}) // on top of the first
	open, err := os.Open(target + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	for range 2 { // once more is no error
		if err := idmap.Unmount(target); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(target + "/file"); err == nil {
			t.Error("the clone is still there")
		}
	}
	if _, err := os.Stat(source + "/file"); err != nil {
		t.Errorf("the source went with it: %v", err)
	}
	if err := idmap.Unmount(target + "/none"); err != nil {
		t.Errorf("unmounting what is not there: %v", err)
	}
}

// TestUnmountReachesCopies: on most systems a new mount appears in every mount
// namespace that follows the first, and must leave them all.
func TestUnmountReachesCopies(t *testing.T) {
	source, target := folders(t)
	peer := target + "-peer"
	if err := errors.Join(
		os.Mkdir(peer, 0o755), os.Mkdir(target+"/place", 0o755), os.WriteFile(source+"/file", nil, 0o644),
		unix.Mount(target, target, "", unix.MS_BIND, ""), unix.Mount("", target, "", unix.MS_SHARED, ""),
		unix.Mount(target, peer, "", unix.MS_BIND, ""),
	); err != nil {
		t.Fatal(err)
	}
	clone(t, source, target+"/place", idmap.View{As: agent})
	if got := ids(t, peer+"/place/file"); got != agent {
		t.Errorf("the copy shows %v, want %v", got, agent)
	}
	if err := idmap.Unmount(target + "/place"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(peer + "/place/file"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the copy was left (error %v)", err)
	}
}

// TestUnmountBelow is the sweep after a crash: nobody knows what was mounted.
func TestUnmountBelow(t *testing.T) {
	source, target := folders(t)
	write(t, source+"/precious", owner, 0o644)
	if err := os.Mkdir(source+"/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plain", "two words", `back\slash`, "tab\tand\nline", "#hash", "no-break\u00a0space", "feed\f\v", "über"} {
		dir := filepath.Join(target, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		clone(t, source, dir, idmap.View{As: agent})
		clone(t, source, dir+"/sub", idmap.View{As: agent})
	}
	clone(t, source, target+"/plain", idmap.View{As: agent}) // hides plain/sub
	beside := target + "-beside"
	if err := os.Mkdir(beside, 0o755); err != nil {
		t.Fatal(err)
	}
	clone(t, source, beside, idmap.View{As: agent})

	if err := idmap.UnmountBelow(target); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(target); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(source + "/precious"); err != nil {
		t.Errorf("removing the folder reached the workspace: %v", err)
	}
	if _, err := os.Stat(beside + "/precious"); err != nil {
		t.Errorf("a mount beside the folder went with it: %v", err)
	}
	if err := idmap.UnmountBelow(target); err != nil {
		t.Errorf("a folder that is not there: %v", err)
	}
}

// TestUnmountBelowLink: a state folder may be in the hands of somebody who puts a
// link to the rest of the machine in it.
func TestUnmountBelowLink(t *testing.T) {
	source, target := folders(t)
	write(t, source+"/precious", owner, 0o644)
	clone(t, source, target, idmap.View{As: agent})
	link, way := target+"-link", target+"-way"
	if err := errors.Join(os.Symlink(target, link), os.Symlink(filepath.Dir(target), way)); err != nil {
		t.Fatal(err)
	}
	if err := idmap.UnmountBelow(link); err != nil {
		t.Errorf("a link: %v", err)
	}
	if _, err := os.Stat(target + "/precious"); err != nil {
		t.Errorf("the mount that the link leads to is gone: %v", err)
	}
	if err := idmap.UnmountBelow(filepath.Join(way, filepath.Base(target))); err != nil {
		t.Errorf("by a link on the way: %v", err)
	}
	if _, err := os.Stat(target + "/precious"); err == nil {
		t.Error("a link on the way hid the mount")
	}
}
