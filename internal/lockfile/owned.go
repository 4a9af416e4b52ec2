package lockfile

import (
	"errors"
	"io/fs"
)

// What can be wrong with a file that is to be the user's own.
var (
	ErrForeign = errors.New("it belongs to another user")
	ErrOpen    = errors.New("other users have access to it")
	ErrLinked  = errors.New("it has another name, a hard link")
)

// Owned refuses a file or folder that belongs to another user than the one who
// runs this process, with ErrForeign, or that grants a permission of forbidden,
// with ErrOpen: 0o022 lets others read, 0o077 lets them do nothing. A file whose
// owner is not known belongs to another.
//
// The info must be of an open file, or of a name that nobody else can change, or
// it tells of what was there before.
//
// On Windows it accepts everything: mode bits and owners say nothing there, and
// who may do what is left to the access lists of the user's profile.
func Owned(info fs.FileInfo, forbidden fs.FileMode) error { return owned(info, forbidden) }

// OneName refuses a regular file that has a second name, with ErrLinked: another
// may reach it there, or have made it from a file that something else obeys. On
// Windows it accepts everything.
func OneName(info fs.FileInfo) error { return oneName(info) }
