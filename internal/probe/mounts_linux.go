package probe

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func mountProbes() []Probe {
	return []Probe{
		{"mount", "mounts file systems, disks and the host's root", Kernel, ways(plainMounts)},
		{"mount-api", "mounts with the newer calls, which older filters do not know", Kernel, ways(newMounts)},
		{"mount-cgroup", "mounts a control group hierarchy to set the program the kernel runs at its end", Kernel, ways(cgroupMounts)},
		{"unmount", "unmounts every mount point it is told of", Kernel, ways(unmounts)},
		{"pivot-root", "changes the root of the file system", Kernel, ways(changeRoot)},
	}
}

// mountAt mounts in a scratch folder and works when that is allowed.
func mountAt(source, kind string, flags uintptr, options string) func() error {
	return func() error {
		return inScratch(func(dir string) error {
			if err := unix.Mount(source, dir, kind, flags, options); err != nil {
				return err
			}
			return unix.Unmount(dir, unix.MNT_DETACH)
		})
	}
}

// inScratch makes a folder outside the workspace for the time of try.
func inScratch(try func(dir string) error) error {
	dir, err := os.MkdirTemp("", Prefix)
	if err != nil {
		return notTried(err)
	}
	defer os.Remove(dir) //nolint:errcheck // a mount that stayed belongs to a namespace that ends
	return try(dir)
}

// mountFuse makes this process the server of a file system.
func mountFuse() error {
	fd, err := open("/dev/fuse", unix.O_RDWR)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return mountAt("probe", "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd))()
}

func plainMounts(Facts) []way {
	return []way{
		{"tmpfs", mountAt("tmpfs", "tmpfs", 0, "")},
		{"proc", mountAt("proc", "proc", 0, "")},
		{"sysfs", mountAt("sysfs", "sysfs", 0, "")},
		{"devtmpfs", mountAt("devtmpfs", "devtmpfs", 0, "")},
		{"debugfs", mountAt("debugfs", "debugfs", 0, "")},
		{"securityfs", mountAt("securityfs", "securityfs", 0, "")},
		{"the root, again", mountAt("/", "", unix.MS_BIND|unix.MS_REC, "")},
		{"disk /dev/vda", mountAt("/dev/vda", "ext4", unix.MS_RDONLY, "")},
		{"disk /dev/sda1", mountAt("/dev/sda1", "ext4", unix.MS_RDONLY, "")},
		{"fuse", mountFuse},
		{"overlay", mountAt("overlay", "overlay", 0, "lowerdir=/:/usr")},
	}
}

func newMounts(Facts) []way {
	fsopen := func(kind string) func() error {
		return func() error {
			fd, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
			if err != nil {
				return starved(err)
			}
			return unix.Close(fd)
		}
	}
	clone := func(path string) error {
		fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if err != nil {
			return starved(err)
		}
		return unix.Close(fd)
	}
	move := func() error {
		return inScratch(func(dir string) error {
			return allowed(unix.MoveMount(unix.AT_FDCWD, "/", unix.AT_FDCWD, dir, 0))
		})
	}
	list := []way{{"fsopen ext4", fsopen("ext4")}, {"fsopen tmpfs", fsopen("tmpfs")}, {"fsopen proc", fsopen("proc")}, {"move_mount", move}}
	return append(list, eachPath("open_tree", clone, "/", "/proc", "/proc/1/root")...)
}

// cgroupMounts looks for the release agent: whoever writes it has a program run
// by the host's kernel.
func cgroupMounts(Facts) []way {
	var list []way
	for _, controller := range []string{"rdma", "memory", "misc", "devices", "cpu", "none,name=ralph-probe"} {
		list = append(list, way{"hierarchy of " + controller, func() error {
			return inScratch(func(dir string) error {
				if err := unix.Mount("cgroup", dir, "cgroup", 0, controller); err != nil {
					return err
				}
				defer unix.Unmount(dir, unix.MNT_DETACH) //nolint:errcheck // best effort: the mount is the breach
				return canWrite(filepath.Join(dir, "release_agent"))
			})
		}})
	}
	return append(list, way{"the unified hierarchy", func() error {
		return inScratch(func(dir string) error {
			if err := unix.Mount("cgroup2", dir, "cgroup2", 0, ""); err != nil {
				return err
			}
			defer unix.Unmount(dir, unix.MNT_DETACH) //nolint:errcheck // as above
			return canWrite(filepath.Join(dir, "cgroup.procs"))
		})
	}})
}

func unmounts(Facts) []way {
	expire := func(path string) error {
		switch err := unix.Unmount(path, unix.MNT_EXPIRE); err {
		case unix.EAGAIN, unix.EBUSY: // allowed: marked, or in use
			return nil
		default:
			return err
		}
	}
	return eachPath("unmount", expire, append(mountPoints(), "/proc", "/dev", "/")...)
}

func changeRoot(Facts) []way {
	return []way{
		{"pivot_root", func() error { return allowed(unix.PivotRoot("/", "/")) }},
		{"chroot", func() error { return inScratch(func(string) error { return allowed(unix.Chroot("/" + newName())) }) }},
	}
}
