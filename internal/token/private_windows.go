package token

import (
	"io/fs"
	"os"
)

// checkReadable trusts the access lists of the file: mode bits say nothing here.
func checkReadable(fs.FileInfo, string) error { return nil }

// syncFolder does nothing: folders cannot be synced here.
func syncFolder(*os.Root) error { return nil }

const noBlock = 0
