package probe

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxRead bounds what a probe reads of one file.
const maxRead = 1 << 20

// upAll leads from any directory to the root.
var upAll = strings.Repeat("../", 40)

// errOther means that something of that name exists inside, but it is not the
// host's.
var errOther = errors.New("what is there is not the host's")

// newName returns a name that is not taken, recognisable as a probe's.
func newName() string { return Prefix + rand.Text()[:12] }

// read returns the beginning of a file. It neither waits for the writer of a
// pipe nor takes a terminal.
func read(path string) ([]byte, error) {
	fd, err := open(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return readFD(fd)
}

func readFD(fd int) ([]byte, error) {
	var data []byte
	buf := make([]byte, 64<<10)
	for len(data) < maxRead {
		n, err := unix.Read(fd, buf)
		if n <= 0 {
			return data, err
		}
		data = append(data, buf[:n]...)
	}
	return data, nil
}

func open(path string, flags int) (fd int, err error) {
	fd, err = unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	return fd, starved(err)
}

// starved marks errors that say that the probe ran out of something, not that
// it was refused.
func starved(err error) error {
	for _, errno := range []unix.Errno{unix.EMFILE, unix.ENFILE, unix.ENOMEM} {
		if errors.Is(err, errno) {
			return notTried(err)
		}
	}
	return err
}

// canOpen works when the path can be opened with the flags.
func canOpen(path string, flags int) error {
	fd, err := open(path, flags)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func canRead(path string) error { return canOpen(path, unix.O_RDONLY) }

// canWrite opens an existing file for writing and leaves it as it is.
func canWrite(path string) error { return canOpen(path, unix.O_WRONLY) }

// canCreate makes a file of that name, which must be new, and removes it.
func canCreate(path string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return starved(err)
	}
	unix.Close(fd)
	return os.Remove(path)
}

// canCreateIn makes a new file in a directory and removes it.
func canCreateIn(dir string) error { return canCreate(filepath.Join(dir, newName())) }

// hasSecret works when the file can be read and holds the secret.
func (f Facts) hasSecret(path string) error {
	data, err := read(path)
	if err != nil {
		return err
	}
	return f.secretIn(data)
}

func (f Facts) secretIn(data []byte) error {
	if f.Secret != "" && bytes.Contains(data, []byte(f.Secret)) {
		return nil
	}
	return errOther
}

// inWorkspace makes a scratch folder in the workspace for the time of try.
func (f Facts) inWorkspace(try func(dir string) error) error {
	dir := filepath.Join(f.Workspace, newName())
	if err := os.Mkdir(dir, 0o755); err != nil {
		return notTried(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what it holds tells nothing
	return try(dir)
}

// processes lists the processes that /proc shows.
func processes() []int {
	entries, _ := os.ReadDir("/proc") // an unreadable /proc shows none
	var list []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// allowed turns the outcome of a call whose arguments are nonsense into that
// of an attempt: only a refusal is a refusal. Success, and every complaint about
// the arguments, come after the permission check and mean that it was passed.
func allowed(err error) error {
	refusals := []unix.Errno{
		unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EOPNOTSUPP, unix.EROFS, unix.ENODEV,
	}
	for _, errno := range refusals {
		if errors.Is(err, errno) {
			return err
		}
	}
	return nil
}

// errno makes an error of what a raw system call returned.
func errno(e unix.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

func procPath(pid int, rest string) string { return fmt.Sprintf("/proc/%d/%s", pid, rest) }
