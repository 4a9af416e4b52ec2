package idmap_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/sandbox/idmap"
)

func TestRefusals(t *testing.T) {
	source, target := folders(t)
	if err := errors.Join(os.Symlink(source, source+"/link"), os.Symlink(source, target+"/link"), unix.Mkfifo(source+"/fifo", 0o600)); err != nil {
		t.Fatal(err)
	}
	write(t, target+"/file", owner, 0o600)
	write(t, source+"/plain", owner, 0o600)
	tests := map[string]struct {
		source, target string
		as             idmap.IDs
	}{
		"as root":                {source, target, idmap.IDs{UID: 0, GID: 1}},
		"as root's group":        {source, target, idmap.IDs{UID: 1, GID: 0}},
		"no source":              {source + "/none", target, agent},
		"no target":              {source, target + "/none", agent},
		"source is a link":       {source + "/link", target, agent},
		"a link on the way":      {target + "/link/plain", target + "/file", agent},
		"source is a pipe":       {source + "/fifo", target + "/file", agent},
		"target is a link":       {source, target + "/link", agent},
		"a folder on a file":     {source, target + "/file", agent},
		"a clone of a clone":     {target, target, agent},
		"a system's file system": {"/proc", target, agent},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if name == "a clone of a clone" {
				clone(t, source, target, idmap.View{As: agent})
				defer idmap.Unmount(target)
			}
			before := mountCount(t)
			if err := idmap.Clone(test.source, test.target, idmap.View{As: test.as}); err == nil {
				t.Error("it was cloned")
			}
			if after := mountCount(t); after != before {
				t.Errorf("%d mounts were left", after-before)
			}
		})
	}
}

func mountCount(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

func TestSupportedNamesTheReason(t *testing.T) {
	source, target := folders(t)
	for _, dir := range []string{"upper", "work"} {
		if err := os.Mkdir(filepath.Join(source, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work", "/usr/share", source, source)
	tests := map[string]struct {
		dir, want string
		mount     func() error
	}{
		"overlay": {target, "overlayfs", func() error { return unix.Mount("overlay", target, "overlay", 0, options) }},
		"proc":    {"/proc", "proc", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.mount != nil {
				if err := test.mount(); err != nil {
					t.Skipf("mounting %s: %v", name, err)
				}
			}
			err := idmap.Supported(test.dir)
			var missing *idmap.UnsupportedError
			if !errors.As(err, &missing) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want an *UnsupportedError that names %s", err, test.want)
			}
		})
	}
}

func TestOrdinaryUserIsTold(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("an ordinary user is needed")
	}
	var missing *idmap.UnsupportedError
	if err := idmap.Supported(t.TempDir()); !errors.As(err, &missing) || missing.Reason != "root is needed" {
		t.Errorf("error %v, want that root is needed", err)
	}
}
