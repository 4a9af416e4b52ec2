package token

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/agent-loop/ralph/internal/lockfile"
)

// checkPrivate refuses what others can read or what belongs to another user:
// the secret in it would be theirs, too, or from them.
func checkPrivate(info fs.FileInfo, path string) error {
	switch err := lockfile.Owned(info, 0o077); {
	case errors.Is(err, lockfile.ErrForeign):
		return withHint(fmt.Errorf("%s belongs to another user", path), "remove it, or run ralph as its owner")
	case err != nil:
		return withHint(fmt.Errorf("%s is open to other users", path), fmt.Sprintf("chmod %s %s; and replace what was in it, others may have read it", privateMode(info), path))
	}
	return nil
}

func privateMode(info fs.FileInfo) string {
	if info.IsDir() {
		return "700"
	}
	return "600"
}

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
