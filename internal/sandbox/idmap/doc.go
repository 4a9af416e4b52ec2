// Package idmap shows a folder or file of the host at a second place, where it
// belongs to somebody else. It is for ralph run by root: a sandbox's programs must
// not be root of the host, yet the workspace is root's, and what they write in it
// has to be root's as well.
//
// A clone is a mount of its own with a table of two ids: what the owner of the
// source owns on disk belongs, seen through the clone, to the ids that its View
// names, and what those create through it belongs to the owner on disk. Files of
// all others appear as nobody's (65534), and only their permissions for others
// count. Nobody else can create anything through a clone: their ids have no place
// on disk.
//
// A clone shows one mount, not those below it: such a mount on the host would be
// seen with its true owners. In a clone their mount points are the plain folders
// they cover. Mounts that come or go on one side do not reach the other. Programs
// in it lend no rights (nosuid), and device files do nothing (nodev). Bind mounts
// of a clone, or of what lies in it, keep all of this.
//
// Nothing is kept between calls, and the calls work in whichever mount namespace
// this process is in. A process that wants one of its own must be started with it,
// by SysProcAttr.Unshareflags: in a running Go program threads would disagree.
package idmap

import "fmt"

// IDs are a user and a group of the host.
type IDs struct{ UID, GID int }

// View says how a clone shows its source.
type View struct {
	As       IDs // whom the owner's files belong to
	ReadOnly bool

	// RootGives lets root create through the clone, for a runtime that makes files
	// as root and then gives them to As. Until it has, they are nobody's on disk.
	RootGives bool
}

// giver is whom root's files belong to on disk until it has given them away: an id
// that nobody has.
const giver = 1_900_000_000

// UnsupportedError means that a file system, or this kernel, has no such mounts.
type UnsupportedError struct {
	Path   string
	Reason string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("showing %s under another owner: %s", e.Path, e.Reason)
}
