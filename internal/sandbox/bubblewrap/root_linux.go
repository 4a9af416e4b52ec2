package bubblewrap

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/agent-loop/ralph/internal/sandbox"
	"github.com/agent-loop/ralph/internal/sandbox/idmap"
	"github.com/agent-loop/ralph/internal/sandbox/layout"
	"github.com/agent-loop/ralph/internal/sandbox/machine"
)

// views are what bwrap finds of the host when ralph is root: the user's mounts as
// nobody's, in a mount namespace of its own.
type views struct {
	clones []layout.Clone
	binds  []bind
}

// newViews plans the views of all mounts and returns the mounts as they are made
// from them.
func newViews(places string, spec sandbox.Spec, mounts []layout.Mount) (*views, []layout.Mount, error) {
	v := &views{}
	var err error
	if v.clones, mounts, err = layout.Clones(places, spec, mounts); err != nil {
		return nil, nil, err
	}
	if v.binds, mounts, err = makeReachable(places, mounts); err != nil {
		return nil, nil, err
	}
	return v, mounts, nil
}

// bind shows a file or folder at a place where nobody can reach it, too.
type bind struct{ Source, Target string }

// makeReachable plans a bind for all that lies where only root may go: bwrap is
// nobody when it looks for it. That may be ralph itself, or a root file system.
func makeReachable(places string, mounts []layout.Mount) ([]bind, []layout.Mount, error) {
	var binds []bind
	reachable := slices.Clone(mounts)
	for i := range reachable {
		m := &reachable[i]
		if m.Kind != layout.Bind || sandbox.Within(m.Source, places) || machine.CheckReachable(Name, "", filepath.Dir(m.Source)) == nil {
			continue
		}
		place, err := layout.Place(places, m.Source, "r"+strconv.Itoa(i))
		if err != nil {
			return nil, nil, err
		}
		binds = append(binds, bind{m.Source, place})
		m.Source = place
	}
	return binds, reachable, nil
}

// enter makes a mount namespace for the calling thread, and the views in it. The
// thread is of no other use afterwards; see proc.AttachAfter.
func (v *views) enter() error {
	err := unix.Unshare(unix.CLONE_NEWNS)
	if err == nil {
		err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	}
	if err != nil {
		return fmt.Errorf("making a mount namespace: %w", err)
	}
	agent := idmap.IDs{UID: layout.Nobody, GID: layout.Nobody}
	for _, c := range v.clones {
		if err := idmap.Clone(c.Source, c.Target, idmap.View{As: agent, ReadOnly: c.ReadOnly}); err != nil {
			return err
		}
	}
	for _, b := range v.binds {
		if err := unix.Mount(b.Source, b.Target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", b.Source, err)
		}
	}
	return nil
}

// asNobody starts a program that has given up root for good, and all groups.
func asNobody() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: layout.Nobody, Gid: layout.Nobody}}
}
