package token

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// readPrivate reads a file that a person keeps somewhere, if check says that it
// is private. What is looked at is the file that was opened, not the path.
func readPrivate(path string, most int64, check func(fs.FileInfo, string) error) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|noBlock, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	if err := check(info, path); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("it is longer than %d bytes", most)
	}
	return data, err
}
