package probe

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// projectFileRename puts a copy in place of the file, so that a success leaves
// the same bytes behind.
func projectFileRename(f Facts) []way {
	file := f.protected("ralph.toml")
	over := func(path string) error {
		return f.inWorkspace(func(dir string) error {
			own := filepath.Join(dir, "copy")
			if err := copyFile(path, own); err != nil {
				return notTried(err)
			}
			return unix.Rename(own, path)
		})
	}
	return append(eachPath("rename over", over, file), eachPath("move", moveAndBack, file)...)
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	st, err := os.Stat(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, st.Mode().Perm())
}

func projectFileUnlink(f Facts) []way {
	unlink := func(path string) error {
		return f.inWorkspace(func(dir string) error {
			own := filepath.Join(dir, "copy")
			if err := copyFile(path, own); err != nil {
				return notTried(err)
			}
			if err := unix.Unlink(path); err != nil {
				return err
			}
			return copyFile(own, path)
		})
	}
	return eachPath("delete", unlink, f.protected("ralph.toml"))
}

func protectedCreate(f Facts) []way {
	var folders []string
	for _, p := range f.protectedPaths() {
		if st, err := os.Stat(p); err == nil && st.IsDir() {
			folders = append(folders, p)
		}
	}
	mkdir := func(dir string) error {
		path := filepath.Join(dir, newName())
		if err := unix.Mkdir(path, 0o755); err != nil {
			return err
		}
		return os.Remove(path)
	}
	return append(eachPath("create a file in", canCreateIn, folders...), eachPath("create a folder in", mkdir, folders...)...)
}

// protectedAttributes sets everything to what it is, or to what does no harm.
func protectedAttributes(f Facts) []way {
	touch := func(path string) error {
		now := unix.Timespec{Nsec: unix.UTIME_NOW}
		return unix.UtimesNanoAt(unix.AT_FDCWD, path, []unix.Timespec{now, now}, unix.AT_SYMLINK_NOFOLLOW)
	}
	keepOwner := func(path string) error {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			return err
		}
		return unix.Chown(path, int(st.Uid), int(st.Gid))
	}
	tag := func(path string) error {
		if err := unix.Setxattr(path, "user.ralph-probe", []byte("1"), 0); err != nil {
			return err
		}
		return unix.Removexattr(path, "user.ralph-probe")
	}
	paths := append(f.protectedPaths(), f.protectedFiles()...)
	var list []way
	list = append(list, eachPath("change the mode of", keepMode, paths...)...)
	list = append(list, eachPath("change the times of", touch, paths...)...)
	list = append(list, eachPath("change the owner of", keepOwner, paths...)...)
	return append(list, eachPath("set an attribute of", tag, paths...)...)
}

func protectedHardLink(f Facts) []way {
	try := func(path string) error {
		return f.inWorkspace(func(dir string) error {
			name := filepath.Join(dir, "linked")
			if err := unix.Link(path, name); err != nil {
				return err
			}
			return canWrite(name)
		})
	}
	return eachPath("link", try, f.protectedFiles()...)
}

// protectedParentMove tries every folder above a protected path: what is
// protected would go along, and leave its name to be taken.
func protectedParentMove(f Facts) []way {
	if len(f.protectedPaths()) == 0 {
		return nil
	}
	folders := []string{f.Workspace}
	for _, p := range f.Protected {
		for dir := filepath.Dir(p); dir != "."; dir = filepath.Dir(dir) {
			folders = append(folders, filepath.Join(f.Workspace, dir))
		}
	}
	return eachPath("move", moveAndBack, folders...)
}

func protectedBind(f Facts) []way {
	bind := func(path string) error {
		return f.inWorkspace(func(own string) error {
			if st, err := os.Stat(path); err == nil && !st.IsDir() {
				own = filepath.Join(own, "file")
				if err := os.WriteFile(own, nil, 0o644); err != nil {
					return notTried(err)
				}
			}
			if err := unix.Mount(own, path, "", unix.MS_BIND, ""); err != nil {
				return err
			}
			return unix.Unmount(path, unix.MNT_DETACH)
		})
	}
	return eachPath("mount over", bind, f.protectedPaths()...)
}

// protectedRemount works when the mount was made writable. It is put back: the
// mount belongs to the sandbox.
func protectedRemount(f Facts) []way {
	paths := append(f.protectedPaths(), f.ReadOnlyMount)
	return append(
		eachPath("remount", remountWritable, paths...),
		eachPath("clear read-only of", clearReadOnly, paths...)...)
}

func remountWritable(path string) error {
	if err := unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND, ""); err != nil {
		return err
	}
	return unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
}

func clearReadOnly(path string) error {
	attr := unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, path, 0, &attr); err != nil {
		return err
	}
	return unix.MountSetattr(unix.AT_FDCWD, path, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// protectedUmount cannot be undone, but it is the sandbox's mount that goes.
// MNT_EXPIRE only marks the mount the first time, which needs the same right.
func protectedUmount(f Facts) []way {
	umount := func(path string) error {
		switch err := unix.Unmount(path, unix.MNT_EXPIRE); err {
		case unix.EAGAIN, unix.EBUSY:
			return nil
		default:
			return err
		}
	}
	return eachPath("unmount", umount, append(f.protectedPaths(), f.ReadOnlyMount)...)
}
