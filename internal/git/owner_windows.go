package git

import "io/fs"

// isOurs takes every file for the user's own: owners are not told by numbers here.
func isOurs(fs.FileInfo) bool { return true }
