package probe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func outsideProbes() []Probe {
	return []Probe{
		{"write-system", "creates files in the system directories", Files, ways(writeSystem)},
		{"write-home", "creates files beside the home directory's secret and in another run", Files, ways(writeHome)},
		{"write-helper", "overwrites the program that is mounted inside to help", Files, ways(writeHelper)},
		{"write-read-only-mount", "changes a folder that is mounted read-only", Files, ways(writeReadOnlyMount)},
		{"reopen-for-writing", "opens what is read-only for reading and reopens it for writing through /proc", Files, ways(reopenForWriting)},
		{"device-nodes", "opens devices that no program needs: disks, memory, virtual machines", Files, ways(deviceNodes)},
		{"make-device", "makes device nodes for the host's disks and memory in the workspace and opens them", Files, ways(makeDevice)},
		{"setuid-file", "leaves a set-user-ID and a set-group-ID program in the workspace", Files, ways(setuidFile)},
	}
}

func writeSystem(Facts) []way {
	return eachPath("create a file in", canCreateIn,
		"/", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/local/bin", "/bin", "/sbin", "/lib", "/etc",
		"/etc/cron.d", "/etc/profile.d", "/etc/ssl", "/opt", "/boot", "/root", "/sys", "/proc", "/var/spool/cron")
}

func writeHome(f Facts) []way {
	if f.HomeFile == "" || f.SiblingRun == "" {
		return nil
	}
	list := eachPath("create a file in", canCreateIn, filepath.Dir(f.HomeFile), f.SiblingRun)
	return append(list, eachPath("write", canWrite, f.HomeFile)...)
}

// writeHelper also changes the mode to what it is: opening a program that runs
// fails as busy before a read-only mount is even looked at.
func writeHelper(Facts) []way {
	helper, err := os.Executable()
	if err != nil {
		return []way{{"find the helper", func() error { return notTried(err) }}}
	}
	list := eachPath("write", canWrite, helper, "/proc/self/exe", "/proc/1/exe")
	list = append(list, eachPath("change the mode of", keepMode, helper)...)
	list = append(list, eachPath("move", moveAndBack, helper)...)
	return append(list, eachPath("create a file beside", func(p string) error { return canCreateIn(filepath.Dir(p)) }, helper)...)
}

// keepMode sets a file's mode to what it already is.
func keepMode(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return err
	}
	return unix.Chmod(path, st.Mode&0o7777)
}

// moveAndBack renames a path and undoes it.
func moveAndBack(path string) error {
	moved := filepath.Join(filepath.Dir(path), newName())
	if err := unix.Rename(path, moved); err != nil {
		return err
	}
	return os.Rename(moved, path)
}

func writeReadOnlyMount(f Facts) []way {
	if f.ReadOnlyMount == "" {
		return nil
	}
	list := eachPath("create a file in", canCreateIn, f.ReadOnlyMount)
	list = append(list, eachPath("change the mode of", keepMode, f.ReadOnlyMount)...)
	for _, file := range regularFiles(f.ReadOnlyMount) {
		list = append(list, eachPath("write", canWrite, file)...)
		list = append(list, eachPath("move", moveAndBack, file)...)
		list = append(list, eachPath("change the mode of", keepMode, file)...)
	}
	return list
}

func reopenForWriting(f Facts) []way {
	var paths []string
	if f.ReadOnlyMount != "" {
		paths = regularFiles(f.ReadOnlyMount)
	}
	paths = append(paths, f.protectedFiles()...)
	return append(
		eachPath("reopen", func(p string) error { return reopen(p, unix.O_RDONLY) }, paths...),
		eachPath("reopen by path handle", func(p string) error { return reopen(p, unix.O_PATH) }, paths...)...)
}

func reopen(path string, flags int) error {
	fd, err := open(path, flags)
	if err != nil {
		return notTried(err)
	}
	defer unix.Close(fd)
	return canWrite(fmt.Sprintf("/proc/self/fd/%d", fd))
}

// deviceNodes tries what is dangerous by name and whatever else /dev holds
// beyond what every sandbox has. Of fuse and tunnels the use is privileged, not
// the opening; they have ways of their own in the probes mount and tunnel.
func deviceNodes(Facts) []way {
	paths := []string{
		"/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/dm-0",
		"/dev/loop0", "/dev/loop-control", "/dev/mapper/control", "/dev/kvm", "/dev/vsock",
		"/dev/vhost-net", "/dev/vhost-vsock", "/dev/uinput", "/dev/input/event0", "/dev/btrfs-control", "/dev/tty1",
		"/dev/console", "/dev/ttyS0", "/dev/hwrng", "/dev/dri/card0", "/dev/snd/controlC0", "/proc/kcore", "/proc/kmem",
	}
	harmless := map[string]bool{
		"null": true, "zero": true, "full": true, "random": true, "urandom": true, "tty": true, "ptmx": true,
		"fuse": true, "net": true, "stdin": true, "stdout": true, "stderr": true, "fd": true, "pts": true, "shm": true, "mqueue": true, "core": true,
	}
	entries, _ := os.ReadDir("/dev") // an unreadable /dev holds no more to try
	for _, e := range entries {
		if !harmless[e.Name()] && !e.IsDir() {
			paths = append(paths, "/dev/"+e.Name())
		}
	}
	return eachPath("open", canRead, paths...)
}

type device struct {
	what         string
	mode         uint32
	major, minor uint32
}

func devices() []device {
	return []device{
		{"disk 8:0", unix.S_IFBLK, 8, 0},
		{"disk 254:0", unix.S_IFBLK, 254, 0},
		{"disk 259:0", unix.S_IFBLK, 259, 0},
		{"memory 1:1", unix.S_IFCHR, 1, 1},
		{"null 1:3", unix.S_IFCHR, 1, 3},
	}
}

func makeDevice(f Facts) []way {
	var list []way
	for _, dir := range []string{f.Workspace, "/tmp"} {
		for _, d := range devices() {
			if dir == "" {
				continue
			}
			list = append(list, way{"make " + d.what + " in " + dir, func() error {
				path := filepath.Join(dir, newName())
				err := unix.Mknod(path, d.mode|0o600, int(unix.Mkdev(d.major, d.minor)))
				if err != nil {
					return err
				}
				return os.Remove(path)
			}})
		}
	}
	return list
}

// setuidFile leaves the files where they are: the host looks at what arrived.
func setuidFile(f Facts) []way {
	if f.Workspace == "" {
		return nil
	}
	create := func(bits uint32) error {
		path := filepath.Join(f.Workspace, newName())
		fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o755|bits)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := unix.Fchmod(fd, 0o755|bits); err != nil && !errors.Is(err, unix.EPERM) {
			return err
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return notTried(err)
		}
		if st.Mode&bits == 0 {
			return errors.New("the bit did not stick")
		}
		return nil
	}
	return []way{
		{"set-user-ID program", func() error { return create(unix.S_ISUID) }},
		{"set-group-ID program", func() error { return create(unix.S_ISGID) }},
	}
}
