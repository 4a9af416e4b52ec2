package sandboxtest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// namespace is the file system that a memory sandbox sees: an empty read-only
// root, a private /tmp and home, folders of its own, and the mounts. Guest paths are written with
// slashes whatever the host's system is.
type namespace struct {
	private string // host folder that backs what is not mounted
	mounts  []sandbox.Mount
}

func newNamespace(mounts []sandbox.Mount, own ...string) (*namespace, error) {
	if err := checkSources(mounts); err != nil {
		return nil, err
	}
	private, err := os.MkdirTemp("", "ralph-memory-")
	if err != nil {
		return nil, fmt.Errorf("making the private files: %w", err)
	}
	n := &namespace{private: private, mounts: []sandbox.Mount{
		{Source: filepath.Join(private, "root"), Target: "/", ReadOnly: true},
		{Source: filepath.Join(private, "tmp"), Target: "/tmp"},
		{Source: filepath.Join(private, "home"), Target: sandbox.Home},
	}}
	folders, err := n.ownFolders(own)
	if err == nil {
		err = n.attach(append(folders, mounts...))
	}
	if err != nil {
		n.remove()
		return nil, err
	}
	return n, nil
}

func checkSources(mounts []sandbox.Mount) error {
	for _, m := range mounts {
		if _, err := os.Stat(m.Source); err != nil {
			return fmt.Errorf("mounting: %w", err)
		}
		for _, p := range m.Protect {
			if _, err := os.Lstat(filepath.Join(m.Source, p)); err != nil {
				return fmt.Errorf("protecting: %w", err)
			}
		}
	}
	return nil
}

// ownFolders are mounts of new private folders.
func (n *namespace) ownFolders(places []string) (mounts []sandbox.Mount, err error) {
	for i, place := range places {
		m := sandbox.Mount{Source: filepath.Join(n.private, fmt.Sprintf("own-%d", i)), Target: place}
		if err := os.Mkdir(m.Source, 0o755); err != nil {
			return nil, fmt.Errorf("making the private files: %w", err)
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

// attach makes the private folders, and in them a place to be seen at for every
// mount.
func (n *namespace) attach(mounts []sandbox.Mount) error {
	root := n.mounts[0].Source
	var dirs []string
	for _, m := range n.mounts {
		dirs = append(dirs, m.Source, filepath.Join(root, m.Target))
	}
	for _, m := range mounts {
		dirs = append(dirs, n.host(m.Target))
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("making the private files: %w", err)
		}
	}
	for _, m := range mounts {
		m.Target = path.Clean(m.Target)
		n.mounts = append(n.mounts, m)
	}
	return nil
}

func (n *namespace) remove() { _ = os.RemoveAll(n.private) }

// place is where a guest path leads once links are followed.
type place struct {
	guest string
	host  string
	mount sandbox.Mount
}

// place finds the mount that owns a clean guest path: the deepest one, and of
// two at the same target the later.
func (n *namespace) place(guest string) place {
	best := n.mounts[0]
	for _, m := range n.mounts[1:] {
		if below(guest, m.Target) && len(m.Target) >= len(best.Target) {
			best = m
		}
	}
	rel := strings.TrimPrefix(strings.TrimPrefix(guest, best.Target), "/")
	return place{guest: guest, host: filepath.Join(best.Source, filepath.FromSlash(rel)), mount: best}
}

func (n *namespace) host(guest string) string { return n.place(path.Clean(guest)).host }

// below reports whether guest is dir or lies in it.
func below(guest, dir string) bool {
	return guest == dir || dir == "/" || strings.HasPrefix(guest, dir+"/")
}

// maxLinks is how many symbolic links one path may go through, as in Linux.
const maxLinks = 40

// resolve walks a guest path one name at a time, as a kernel does, so that a
// link leads to what it names inside and never to the host's file of that name.
// A last name that does not exist is no error: it may be about to be created.
func (n *namespace) resolve(op, guest string, follow bool) (place, error) {
	fail := func(err error) (place, error) {
		return place{}, &os.PathError{Op: op, Path: guest, Err: err}
	}
	if guest == "" {
		return fail(syscall.ENOENT)
	}
	at, todo, links := "/", strings.Split(guest, "/"), 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if name == "" || name == "." {
			continue
		}
		next := path.Join(at, name)
		info, err := os.Lstat(n.host(next))
		last := !slices.ContainsFunc(todo, func(s string) bool { return s != "" })
		switch {
		case errors.Is(err, fs.ErrNotExist) && last:
			return n.place(next), nil
		case err != nil:
			return fail(cause(err))
		case info.Mode()&fs.ModeSymlink != 0 && (follow || !last):
			if links++; links > maxLinks {
				return fail(syscall.ELOOP)
			}
			target, err := os.Readlink(n.host(next))
			if err != nil {
				return fail(cause(err))
			}
			if path.IsAbs(target) {
				at = "/"
			}
			todo = append(strings.Split(target, "/"), todo...)
		case !last && !info.IsDir():
			return fail(syscall.ENOTDIR)
		default:
			at = next
		}
	}
	return n.place(at), nil
}

// cause takes the host's path out of an error, which a guest must not see.
func cause(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	default:
		return err
	}
}

// writable refuses what a read-only mount or a protected path would.
func (p place) writable() error {
	if p.mount.ReadOnly {
		return syscall.EROFS
	}
	for _, name := range p.mount.Protect {
		if below(p.guest, path.Join(p.mount.Target, filepath.ToSlash(name))) {
			return syscall.EROFS
		}
	}
	return nil
}

// movable refuses to take away a name that carries a mount or a protected path,
// itself or anywhere below it: whoever can move the parent of a protected path
// can put another in its place.
func (n *namespace) movable(p place) error {
	if err := p.writable(); err != nil {
		return err
	}
	for _, m := range n.mounts {
		if below(m.Target, p.guest) {
			return syscall.EBUSY
		}
		for _, name := range m.Protect {
			if below(path.Join(m.Target, filepath.ToSlash(name)), p.guest) {
				return syscall.EBUSY
			}
		}
	}
	return nil
}
