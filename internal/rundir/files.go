package rundir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"syscall"

	"github.com/agent-loop/ralph/internal/lockfile"
)

const (
	fileMode   = 0o600
	folderMode = 0o700

	specFile       = "spec.json"
	stateFile      = "state.json"
	logsFolder     = "logs"
	eventsFile     = "events.jsonl"
	iterationsFile = "iterations.jsonl"
	lockFile       = "lock"
	eventsPath     = logsFolder + "/" + eventsFile
	iterationsPath = logsFolder + "/" + iterationsFile

	// maxFile is larger than what is read whole: spec, state, a checkpoint.
	maxFile = 4 << 20
)

var errNotPlain = errors.New("it is a link or no regular file")

// openFolder opens a folder of dir, and not what a link leads to.
func openFolder(dir *os.Root, name string) (*os.Root, error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, fmt.Errorf("opening %s: it is a link or no folder", name)
	}
	folder, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if after, err := folder.Stat("."); err != nil || !os.SameFile(before, after) {
		return nil, errors.Join(fmt.Errorf("opening %s: it was replaced meanwhile", name), folder.Close())
	}
	return folder, nil
}

// openFile opens a regular file of dir, and not what a link leads to. os.Root alone
// follows links that stay inside, and waits for the writer of a pipe.
func openFile(dir *os.Root, name string, flag int) (*os.File, error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, fmt.Errorf("opening %s: %w", name, errNotPlain)
	}
	nonblock := 0
	if runtime.GOOS != "windows" { // which has no pipes among its files
		nonblock = syscall.O_NONBLOCK
	}
	f, err := dir.OpenFile(name, flag|nonblock, 0)
	if err != nil {
		return nil, err
	}
	after, err := f.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = fmt.Errorf("opening %s: it was replaced meanwhile", name)
	}
	if err == nil && flag != os.O_RDONLY {
		err = lockfile.OneName(after)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// createFile makes a file that is not there, or opens it when it is.
func createFile(dir *os.Root, name string) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
	if errors.Is(err, fs.ErrExist) {
		return openFile(dir, name, os.O_RDWR)
	}
	return f, err
}

// readFile reads a whole file of at most maxFile bytes.
func readFile(dir *os.Root, name string) ([]byte, error) {
	f, err := openFile(dir, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content := make([]byte, 4<<10)
	for size := 0; ; content = append(content, make([]byte, len(content))...) {
		n, err := io.ReadFull(f, content[size:])
		size += n
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return content[:size], nil
		} else if err != nil {
			return nil, err
		}
		if size >= maxFile {
			return nil, fmt.Errorf("reading %s: it is not smaller than %d bytes", name, maxFile)
		}
	}
}

// replaceFile puts content where name is, all of it or nothing, lasting. It is
// written first under logs, where no agent can be in the way.
func replaceFile(dir *os.Root, name string, content []byte) error {
	if len(content) >= maxFile {
		return fmt.Errorf("writing %s: %d bytes are not fewer than %d", name, len(content), maxFile)
	}
	draft := logsFolder + "/new-" + rand.Text()
	if err := writeNew(dir, draft, content); err != nil {
		return fmt.Errorf("writing %s: %w", name, errors.Join(err, removeIfThere(dir, draft)))
	}
	if err := dir.Rename(draft, name); err != nil {
		return fmt.Errorf("writing %s: %w", name, errors.Join(err, removeIfThere(dir, draft)))
	}
	return syncFolder(dir, name)
}

func removeIfThere(dir *os.Root, name string) error {
	if err := dir.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// writeNew makes a file with this content, lasting.
func writeNew(dir *os.Root, name string, content []byte) error {
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncFolder makes the names of the folder that holds name last.
func syncFolder(dir *os.Root, name string) error {
	if runtime.GOOS == "windows" { // where a folder cannot be synced
		return nil
	}
	f, err := dir.Open(parent(name))
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

func parent(name string) string {
	for i := len(name) - 1; i > 0; i-- {
		if name[i] == '/' {
			return name[:i]
		}
	}
	return "."
}
