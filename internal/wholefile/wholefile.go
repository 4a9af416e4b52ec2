// Package wholefile replaces files so that whoever looks, and a crash at any
// moment, meets the old one or the new one and nothing else.
package wholefile

import (
	"errors"
	"io/fs"
	"os"
)

// suffix ends the name of a file that is being written. What a kill leaves under
// it is removed by the next Replace of the same file.
const suffix = ".ralph-new"

// Replace puts content, lasting, in the place of whatever has the name: a file, a
// link, which is not followed, or a folder with all that is in it. One caller at a
// time may replace a file.
func Replace(root *os.Root, name string, content []byte, mode fs.FileMode) error {
	draft := name + suffix
	if err := root.RemoveAll(draft); err != nil {
		return err
	}
	err := write(root, draft, content, mode)
	if err == nil {
		err = place(root, draft, name)
	}
	if err != nil {
		_ = root.RemoveAll(draft)
	}
	return err
}

func write(root *os.Root, name string, content []byte, mode fs.FileMode) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// place renames a file. Only a folder must make room for it first.
func place(root *os.Root, draft, name string) error {
	if info, err := root.Lstat(name); err == nil && info.IsDir() {
		if err := root.RemoveAll(name); err != nil {
			return err
		}
	}
	return root.Rename(draft, name)
}
