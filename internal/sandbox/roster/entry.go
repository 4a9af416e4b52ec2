package roster

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// Entry is a sandbox that this process made. While its lock is held, all ralphs
// know that it is alive and leave its folder alone.
type Entry struct {
	ID  string
	Dir string // all there is of the sandbox on disk

	engine string
	lock   *os.File
}

// Status describes the sandbox as one that is made now, by this process.
func (e *Entry) Status(spec sandbox.Spec) sandbox.Status {
	return sandbox.Status{
		ID:          e.ID,
		Engine:      e.engine,
		State:       sandbox.Running,
		Workspace:   spec.Workspace(),
		PID:         os.Getpid(),
		CreatedAt:   time.Now().UTC().Truncate(time.Millisecond),
		Labels:      spec.Labels,
		Fingerprint: spec.Fingerprint(),
	}
}

// Write records the sandbox for other ralphs, in the place of what was recorded
// before. The data is whatever the engine needs to find the sandbox again; see
// Record.Decode.
func (e *Entry) Write(status sandbox.Status, data any) error {
	return writeRecord(e.Dir, status, data)
}

// Folder makes a folder in the sandbox's own, for the same eyes, and returns its
// path.
func (e *Entry) Folder(name string) (string, error) {
	dir := filepath.Join(e.Dir, name)
	if err := os.Mkdir(dir, folderMode()); err != nil {
		return "", fmt.Errorf("creating a folder of the sandbox: %w", err)
	}
	return dir, nil
}

// Release gives the lock back: the sandbox has ended, and any ralph may delete
// its folder from now on. It is safe to call more than once.
func (e *Entry) Release() { e.lock.Close() }

// Remove releases the lock and deletes the folder. It is safe to call more than
// once, and no error if another ralph was faster.
func (e *Entry) Remove() error {
	e.Release()
	return removeDir(e.Dir)
}
