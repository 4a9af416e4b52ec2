package idmap

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Clone mounts source on target, as view says. Both are folders, or both are plain
// files; both exist, and neither path ends in a symbolic link. No part of source is
// one, but for links in the root directory, which are the system's own. The owner is
// who owns source itself. On failure nothing is mounted.
func Clone(source, target string, view View) error {
	tree, err := open(source, view)
	if err != nil {
		return err
	}
	defer tree.Close()
	// Without MOVE_MOUNT_T_SYMLINKS a link at the end of target is not followed.
	err = unix.MoveMount(int(tree.Fd()), "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH)
	if err != nil {
		return fmt.Errorf("mounting %s on %s: %w", source, target, err)
	}
	return nil
}

// Supported tells whether dir can be cloned, by making a clone that is mounted
// nowhere. The error is an *UnsupportedError when it never can be.
func Supported(dir string) error {
	tree, err := open(dir, View{As: IDs{UID: unknownID, GID: unknownID}})
	if err != nil {
		return err
	}
	return tree.Close()
}

// unknownID is no owner's that anybody has; any id does where nothing is mounted.
const unknownID = 1_900_001_000

// open makes the clone, mounted nowhere yet: it is gone when it is closed.
func open(source string, view View) (*os.File, error) {
	switch {
	case os.Geteuid() != 0:
		return nil, &UnsupportedError{Path: source, Reason: "root is needed"}
	case view.As.UID <= 0 || view.As.GID <= 0:
		return nil, fmt.Errorf("showing %s as %d:%d: root and its group are refused", source, view.As.UID, view.As.GID)
	}
	at, err := openWithoutLinks(source)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	fd, err := unix.OpenTree(int(at.Fd()), "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	switch {
	case errors.Is(err, unix.ENOSYS):
		return nil, tooOld(source)
	case errors.Is(err, unix.EPERM):
		return nil, &UnsupportedError{Path: source, Reason: "root has no right to mount here (CAP_SYS_ADMIN), as in a container"}
	case err != nil:
		return nil, fmt.Errorf("cloning the mount of %s: %w", source, err)
	}
	tree := os.NewFile(uintptr(fd), source)
	if err := show(tree, view); err != nil {
		tree.Close()
		return nil, err
	}
	return tree, nil
}

// openWithoutLinks opens a path without rights to its content. Whoever owns a folder
// above source could put a link in its place at the last moment, and what it leads to
// would be the agent's to write, with its owner's rights.
func openWithoutLinks(source string) (*os.File, error) {
	path := filepath.Clean(source)
	if first, rest, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/"); ok && filepath.IsAbs(path) {
		real, err := filepath.EvalSymlinks("/" + first)
		if err != nil {
			return nil, fmt.Errorf("cloning the mount of %s: %w", source, err)
		}
		path = filepath.Join(real, rest)
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	switch {
	case errors.Is(err, unix.ENOSYS):
		return nil, tooOld(source)
	case errors.Is(err, unix.ELOOP):
		return nil, fmt.Errorf("cloning the mount of %s: a symbolic link is on the way to it: %w", source, err)
	case err != nil:
		return nil, fmt.Errorf("cloning the mount of %s: %w", source, err)
	}
	return os.NewFile(uintptr(fd), source), nil
}

// show gives a fresh clone its owner and takes from it what programs could abuse.
func show(tree *os.File, view View) error {
	owner, err := ownerOf(tree)
	if err != nil {
		return err
	}
	table, err := newTable(owner, view)
	if err != nil {
		return explainTable(tree.Name(), err)
	}
	defer table.Close()
	attr := unix.MountAttr{
		Attr_set:    unix.MOUNT_ATTR_IDMAP | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV,
		Propagation: unix.MS_PRIVATE,
		Userns_fd:   uint64(table.Fd()),
	}
	if view.ReadOnly {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	return explain(tree, unix.MountSetattr(int(tree.Fd()), "", unix.AT_EMPTY_PATH, &attr))
}

// ownerOf reads the owner from the clone, not from its path, which may lead
// elsewhere by now.
func ownerOf(tree *os.File) (IDs, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(tree.Fd()), &stat); err != nil {
		return IDs{}, fmt.Errorf("reading the owner of %s: %w", tree.Name(), err)
	}
	if kind := stat.Mode & unix.S_IFMT; kind != unix.S_IFDIR && kind != unix.S_IFREG {
		return IDs{}, fmt.Errorf("cloning the mount of %s: it is neither a folder nor a plain file", tree.Name())
	}
	return IDs{UID: int(stat.Uid), GID: int(stat.Gid)}, nil
}

// explain turns the kernel's word for "never" into ours.
func explain(tree *os.File, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENOSYS):
		return tooOld(tree.Name())
	case errors.Is(err, unix.EINVAL):
		return &UnsupportedError{Path: tree.Name(), Reason: fmt.Sprintf("its file system, %s, cannot do it on this kernel", fileSystem(tree))}
	case errors.Is(err, unix.EPERM):
		return &UnsupportedError{Path: tree.Name(), Reason: "it is shown under another owner already, or its file system belongs to another user namespace"}
	}
	return fmt.Errorf("showing %s under another owner: %w", tree.Name(), err)
}

func tooOld(path string) error {
	return &UnsupportedError{Path: path, Reason: "the kernel is older than Linux 5.12"}
}

// fileSystem names the kind of file system, of those that people have.
func fileSystem(tree *os.File) string {
	var stat unix.Statfs_t
	if err := unix.Fstatfs(int(tree.Fd()), &stat); err != nil {
		return "which cannot be told"
	}
	names := map[uint32]string{
		unix.OVERLAYFS_SUPER_MAGIC: "overlayfs",
		unix.NFS_SUPER_MAGIC:       "nfs",
		unix.SMB2_SUPER_MAGIC:      "smb",
		unix.CIFS_SUPER_MAGIC:      "smb",
		unix.FUSE_SUPER_MAGIC:      "fuse",
		unix.V9FS_MAGIC:            "9p",
		unix.TMPFS_MAGIC:           "tmpfs",
		unix.PROC_SUPER_MAGIC:      "proc",
		unix.EXT4_SUPER_MAGIC:      "ext4",
		unix.XFS_SUPER_MAGIC:       "xfs",
		unix.BTRFS_SUPER_MAGIC:     "btrfs",
		0x2fc12fc1:                 "zfs",
	}
	if name := names[uint32(stat.Type)]; name != "" {
		return name
	}
	return fmt.Sprintf("of type %#x", uint32(stat.Type))
}
