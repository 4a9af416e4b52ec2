package container

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// archive writes a folder of small files, folders and links to a file, as root's
// and without times, and returns a name made from its content: the same folder
// has the same one on every machine.
func archive(dir, file string) (sum string, err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("archiving the root: %w", err)
	}
	hash := sha256.New()
	w := tar.NewWriter(io.MultiWriter(f, hash))
	root, err := os.OpenRoot(dir)
	if err == nil {
		defer root.Close()
		err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || name == "." {
				return err
			}
			return addToArchive(w, root, name, entry)
		})
	}
	if err = errors.Join(err, w.Close(), f.Close()); err != nil {
		return "", fmt.Errorf("archiving the root: %w", err)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16]), nil
}

func addToArchive(w *tar.Writer, root *os.Root, name string, entry fs.DirEntry) error {
	header := &tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Format: tar.FormatPAX}
	var content []byte
	switch entry.Type() {
	case fs.ModeDir:
		header.Typeflag, header.Mode, header.Name = tar.TypeDir, 0o755, header.Name+"/"
		if name == "tmp" {
			header.Mode = 0o1777 // runtimes take the mode of a place in memory from here
		}
	case fs.ModeSymlink:
		to, err := root.Readlink(name)
		if err != nil {
			return err
		}
		header.Typeflag, header.Mode, header.Linkname = tar.TypeSymlink, 0o777, to
	case 0:
		var err error
		if content, err = root.ReadFile(name); err != nil {
			return err
		}
		header.Typeflag, header.Size = tar.TypeReg, int64(len(content))
	default:
		return fmt.Errorf("%s is neither a file, a folder nor a link", name)
	}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}
