package cli

import (
	"errors"
	"io/fs"
)

// noFollow has no word for links here; openRecord has looked before.
const noFollow = 0

// checkOwn leaves who may write to the access lists of the folder.
func checkOwn(info fs.FileInfo) error {
	if !info.Mode().IsRegular() && !info.IsDir() {
		return errors.New("it is not a regular file")
	}
	return nil
}
