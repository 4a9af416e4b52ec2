package ociruntime

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// module is how a ralph is told from another program.
const module = "github.com/agent-loop/ralph"

// isRalph says whether the file is a ralph, of any version.
func isRalph(path string) bool {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	info, err := buildinfo.ReadFile(path)
	return err == nil && info.Main.Path == module
}

// mayReplace refuses to touch a program that is not ralph: the folder may hold a
// runsc of another origin.
func mayReplace(path string, force bool) error {
	if force || !exists(path) || isRalph(path) {
		return nil
	}
	return &ExistsError{fmt.Sprintf("%s is there and is not a ralph", path)}
}

// placeBinary copies the program, unless the same is there already. The new file
// takes its name at once and whole: the engine may run it at any moment, and
// containers that run keep the old one.
func placeBinary(p Place, binary string) (changed bool, err error) {
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		return false, err
	}
	if err := trustworthy(p.Dir); err != nil {
		return false, err
	}
	if same, _ := sameContent(p.Path(), binary); same && isRalph(p.Path()) && safeFile(p.Path()) {
		return false, nil
	}
	source, err := os.Open(binary)
	if err != nil {
		return false, err
	}
	defer source.Close()
	return true, replace(p.Path(), source, 0o755)
}

// draftSuffix ends the name of a file that is being written. What a kill leaves
// under it makes room for the next.
const draftSuffix = ".ralph-new"

// replace puts content, lasting, in the place of the file. Whoever looks meets
// the old file or the new one, and a failure leaves the old.
func replace(path string, content io.Reader, mode fs.FileMode) error {
	draft := path + draftSuffix
	if err := os.Remove(draft); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := write(draft, content, mode)
	if err == nil {
		err = os.Rename(draft, path)
	}
	if err != nil {
		_ = os.Remove(draft)
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// write makes a new file with exactly the mode, whatever the user's mask.
func write(path string, content io.Reader, mode fs.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// syncFolder makes a rename last. Not every system lets a folder be synced.
func syncFolder(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
		return err
	}
	return nil
}

// sameContent says whether two files hold the same bytes.
func sameContent(one, other string) (bool, error) {
	a, err := os.Open(one)
	if err != nil {
		return false, err
	}
	defer a.Close()
	b, err := os.Open(other)
	if err != nil {
		return false, err
	}
	defer b.Close()
	return sameBytes(a, b)
}

func sameBytes(a, b io.Reader) (bool, error) {
	left, right := make([]byte, 1<<20), make([]byte, 1<<20)
	for {
		n, errA := io.ReadFull(a, left)
		m, errB := io.ReadFull(b, right)
		switch {
		case !bytes.Equal(left[:n], right[:m]):
			return false, nil
		case errA == nil && errB == nil:
		case ended(errA) && ended(errB):
			return true, nil
		default:
			return false, errors.Join(errA, errB)
		}
	}
}

func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
