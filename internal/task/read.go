package task

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

// openRegular opens a file of the workspace for reading. What is not a regular
// file is refused, a link too: an agent may have put it there, and could
// exchange it between the look and the opening.
func openRegular(root *os.Root, name string) (*os.File, int64, error) {
	before, err := root.Lstat(name)
	if err != nil {
		return nil, 0, err
	}
	if before.Mode()&os.ModeSymlink != 0 {
		return nil, 0, errors.New("is a symbolic link; put the file itself there")
	}
	if !before.Mode().IsRegular() {
		return nil, 0, errors.New("is not a regular file")
	}
	f, err := root.OpenFile(name, os.O_RDONLY|openWithoutWaiting, 0)
	if err != nil {
		return nil, 0, err
	}
	now, err := f.Stat()
	if err != nil || !os.SameFile(before, now) {
		f.Close()
		return nil, 0, errors.New("was exchanged while it was opened")
	}
	return f, now.Size(), nil
}

// readText reads a whole file of at most limit bytes of UTF-8.
func readText(root *os.Root, name string, limit int64) ([]byte, error) {
	f, _, err := openRegular(root, name)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", name, err)
	case int64(len(data)) > limit:
		return nil, fmt.Errorf("reading %s: it is larger than %d KiB", name, limit>>10)
	case !utf8.Valid(data):
		return nil, fmt.Errorf("reading %s: it is not UTF-8", name)
	}
	return bytes.TrimPrefix(data, []byte("\uFEFF")), nil // which some editors put first
}
