package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// namespaceSteps run as root of new namespaces; see inNamespaces. What they do
// to their own mounts ends with them.
func namespaceSteps() []Probe {
	return []Probe{
		{"ns-files", "", Kernel, ways(nsFiles)},
		{"ns-protected", "", Kernel, ways(nsProtected)},
		{"ns-unmount", "", Kernel, ways(nsUnmount)},
		{"ns-chroot", "", Kernel, ways(nsChroot)},
		{"ns-devices", "", Kernel, ways(nsDevices)},
		{"ns-processes", "", Kernel, ways(nsProcesses)},
		{"ns-cgroup", "", Kernel, ways(cgroupMounts)},
		{"ns-sockets", "", Kernel, ways(nsSockets)},
		{"ns-network", "", Kernel, ways(nsNetwork)},
		{"ns-kernel", "", Kernel, ways(nsKernel)},
		{"ns-join", "", Kernel, ways(joinNamespaces)},
		{"nothing", "", Kernel, func(Facts) Result { return blocked("nothing was tried") }},
	}
}

// nsFiles works when a mount shows the home directory, or a disk can be mounted.
func nsFiles(f Facts) []way {
	if f.HomeFile == "" {
		return nil
	}
	shows := func(source, kind string, flags uintptr, options string) func() error {
		return func() error {
			return inScratch(func(dir string) error {
				if err := unix.Mount(source, dir, kind, flags, options); err != nil {
					return err
				}
				defer unix.Unmount(dir, unix.MNT_DETACH) //nolint:errcheck // the namespace ends anyway
				if strings.HasPrefix(source, "/dev/") {
					return nil
				}
				return f.hasSecret(dir + f.HomeFile)
			})
		}
	}
	list := []way{
		{"bind the root", shows("/", "", unix.MS_BIND|unix.MS_REC, "")},
		{"bind the root without what covers it", shows("/", "", unix.MS_BIND, "")},
		{"bind the root of process 1", shows("/proc/1/root", "", unix.MS_BIND, "")},
		{"overlay of the root", shows("overlay", "overlay", 0, "lowerdir=/:/usr")},
	}
	if f.Workspace != "" {
		parent := filepath.Dir(f.Workspace)
		list = append(list, way{"bind the folder above the workspace", func() error {
			return inScratch(func(dir string) error {
				if err := unix.Mount(parent, dir, "", unix.MS_BIND, ""); err != nil {
					return err
				}
				defer unix.Unmount(dir, unix.MNT_DETACH) //nolint:errcheck // as above
				return f.searchTree(filepath.Join(dir, filepath.Base(f.SiblingRun)))
			})
		}})
	}
	for _, disk := range []string{"/dev/vda", "/dev/sda", "/dev/sda1", "/dev/nvme0n1p1", "/dev/loop0"} {
		for _, kind := range []string{"ext4", "xfs", "btrfs"} {
			list = append(list, way{"mount " + disk + " as " + kind, shows(disk, kind, unix.MS_RDONLY, "")})
		}
	}
	return list
}

// nsProtected works when a protected file can be opened for writing after it.
func nsProtected(f Facts) []way {
	if len(f.Protected) == 0 {
		return nil
	}
	writable := func() error {
		for _, file := range append(f.protectedFiles(), regularFiles(f.ReadOnlyMount)...) {
			if canWrite(file) == nil {
				return nil
			}
		}
		return unix.EROFS
	}
	list := []way{{"write as root of a namespace", writable}}
	for _, path := range append(f.protectedPaths(), f.Workspace) {
		list = append(list,
			way{"remount " + path, func() error {
				err := unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND, "")
				return firstRefusal(err, writable)
			}},
			way{"clear read-only of " + path, func() error {
				err := unix.MountSetattr(unix.AT_FDCWD, path, unix.AT_RECURSIVE, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
				return firstRefusal(err, writable)
			}},
			way{"bind without what covers it " + path, func() error { return f.bindWithout(path) }},
			way{"unmount " + path, func() error {
				err := unix.Unmount(path, unix.MNT_DETACH)
				return firstRefusal(err, writable)
			}})
	}
	return list
}

// firstRefusal reports the refusal of a preparation, or else what came of it.
func firstRefusal(err error, then func() error) error {
	if err != nil {
		return err
	}
	return then()
}

// bindWithout binds a folder alone, without the read-only mounts inside it, and
// looks whether what they cover can be written there.
func (f Facts) bindWithout(path string) error {
	return inScratch(func(dir string) error {
		if err := unix.Mount(path, dir, "", unix.MS_BIND, ""); err != nil {
			return err
		}
		defer unix.Unmount(dir, unix.MNT_DETACH) //nolint:errcheck // the namespace ends anyway
		for _, file := range f.protectedFiles() {
			if below, ok := strings.CutPrefix(file, path+"/"); ok && canWrite(filepath.Join(dir, below)) == nil {
				return nil
			}
		}
		return unix.EROFS
	})
}

func nsUnmount(f Facts) []way {
	if f.HomeFile == "" {
		return nil
	}
	return []way{{"look below all mounts", func() error {
		points := mountPoints()
		slices.Sort(points)
		slices.Reverse(points) // the innermost first
		gone := 0
		for _, p := range append(points, "/") {
			if unix.Unmount(p, unix.MNT_DETACH) == nil {
				gone++
			}
		}
		if f.hasSecret(f.HomeFile) == nil || f.searchTree(f.SiblingRun) == nil {
			return nil
		}
		return fmt.Errorf("nothing of the host below %d mounts", gone)
	}}}
}

// nsChroot is the classic escape: a second root directory while the working
// directory is still outside it.
func nsChroot(f Facts) []way {
	if f.HomeFile == "" {
		return nil
	}
	return []way{{"climb out of a second root", func() error {
		return inScratch(func(dir string) error {
			if err := unix.Chroot(dir); err != nil {
				return err
			}
			for range 64 {
				if err := unix.Chdir(".."); err != nil {
					return notTried(err)
				}
			}
			if err := unix.Chroot("."); err != nil {
				return err
			}
			return f.hasSecret(f.HomeFile)
		})
	}}}
}

// nsDevices works when a device that was made there can be opened.
func nsDevices(f Facts) []way {
	var list []way
	for _, d := range devices() {
		list = append(list, way{"make and open " + d.what, func() error {
			return f.inWorkspace(func(dir string) error {
				path := filepath.Join(dir, "device")
				if err := unix.Mknod(path, d.mode|0o600, int(unix.Mkdev(d.major, d.minor))); err != nil {
					return err
				}
				return canRead(path)
			})
		}})
	}
	return list
}

// nsProcesses looks for the host's process in a /proc of its own.
func nsProcesses(f Facts) []way {
	if f.HostPID == 0 {
		return nil
	}
	again := way{"mount /proc anew", func() error {
		return inScratch(func(dir string) error {
			if err := unix.Mount("proc", dir, "proc", 0, ""); err != nil {
				return err
			}
			defer unix.Unmount(dir, unix.MNT_DETACH) //nolint:errcheck // the namespace ends anyway
			entries, err := os.ReadDir(dir)
			if err != nil {
				return notTried(err)
			}
			for _, e := range entries {
				if f.hasSecret(filepath.Join(dir, e.Name(), "cmdline")) == nil {
					return nil
				}
			}
			return fmt.Errorf("none of %d entries is the host's process", len(entries))
		})
	}}
	return append(cgroupMounts(f), again)
}

func nsSockets(f Facts) []way {
	return slices.Concat(rawSockets(f), packetSockets(f), netlinkChange(f))
}

func nsNetwork(f Facts) []way {
	return slices.Concat(hostLoopback(f), tcpByAddress(f), tcpIPv6(f), udpByAddress(f), metadataService(f), abstractSocket(f))
}

func nsKernel(f Facts) []way {
	return slices.Concat(kernelModules(f), kernelKexec(f), kernelReboot(f), kernelClock(f), kernelAccounting(f), kernelSwap(f), ioPorts(f), corePattern(f), sysrq(f))
}
