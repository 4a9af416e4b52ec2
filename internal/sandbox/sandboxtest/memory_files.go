package sandboxtest

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// The file operations below take absolute guest paths. Their errors name those
// and never the host's.

// change runs a change to one place that must be writable.
func (n *namespace) change(op, guest string, follow bool, do func(host string) error) error {
	p, err := n.resolve(op, guest, follow)
	if err != nil {
		return err
	}
	err = p.writable()
	if err == nil {
		err = do(p.host)
	}
	return guestError(op, guest, err)
}

func guestError(op, guest string, err error) error {
	if err == nil {
		return nil
	}
	return &os.PathError{Op: op, Path: guest, Err: cause(err)}
}

const writeFlags = os.O_WRONLY | os.O_RDWR | os.O_CREATE | os.O_TRUNC | os.O_APPEND

func (n *namespace) open(guest string, flag int, perm fs.FileMode) (*os.File, error) {
	if guest == "/dev/null" {
		return os.OpenFile(os.DevNull, flag&^os.O_CREATE, 0)
	}
	p, err := n.resolve("open", guest, true)
	if err != nil {
		return nil, err
	}
	if flag&writeFlags != 0 {
		if err := p.writable(); err != nil {
			return nil, guestError("open", guest, err)
		}
	}
	f, err := os.OpenFile(p.host, flag, perm)
	return f, guestError("open", guest, err)
}

func (n *namespace) stat(guest string) (fs.FileInfo, error) {
	p, err := n.resolve("stat", guest, true)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(p.host)
	return info, guestError("stat", guest, err)
}

func (n *namespace) lstat(guest string) (fs.FileInfo, error) {
	p, err := n.resolve("lstat", guest, false)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(p.host)
	return info, guestError("lstat", guest, err)
}

func (n *namespace) readDir(guest string) ([]fs.DirEntry, error) {
	p, err := n.resolve("open", guest, true)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(p.host)
	return entries, guestError("open", guest, err)
}

func (n *namespace) readlink(guest string) (string, error) {
	p, err := n.resolve("readlink", guest, false)
	if err != nil {
		return "", err
	}
	target, err := os.Readlink(p.host)
	return target, guestError("readlink", guest, err)
}

func (n *namespace) mkdir(guest string) error {
	return n.change("mkdir", guest, false, func(host string) error { return os.Mkdir(host, 0o777) })
}

func (n *namespace) symlink(target, guest string) error {
	return n.change("symlink", guest, false, func(host string) error { return os.Symlink(target, host) })
}

func (n *namespace) chmod(guest string, mode fs.FileMode) error {
	return n.change("chmod", guest, true, func(host string) error { return os.Chmod(host, mode) })
}

func (n *namespace) touch(guest string) error {
	return n.change("touch", guest, true, func(host string) error {
		f, err := os.OpenFile(host, os.O_WRONLY|os.O_CREATE, 0o666)
		if errors.Is(err, syscall.EISDIR) {
			return os.Chtimes(host, time.Time{}, time.Now())
		}
		if err != nil {
			return err
		}
		defer f.Close()
		return os.Chtimes(host, time.Time{}, time.Now())
	})
}

// unlink removes a file, a link or an empty folder.
func (n *namespace) unlink(guest string) error {
	p, err := n.resolve("unlink", guest, false)
	if err != nil {
		return err
	}
	err = n.movable(p)
	if err == nil {
		err = os.Remove(p.host)
	}
	return guestError("unlink", guest, err)
}

func (n *namespace) rename(from, to string) error {
	old, err := n.resolve("rename", from, false)
	if err != nil {
		return err
	}
	dest, err := n.resolve("rename", to, false)
	if err != nil {
		return err
	}
	err = n.movable(old)
	if err == nil {
		err = n.movable(dest)
	}
	if err == nil {
		err = os.Rename(old.host, dest.host)
	}
	return guestError("rename", from, err)
}
