package rundir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/agent-loop/ralph/internal/lockfile"
)

const (
	maxHolder = 64 << 10
	// lockPatience outlasts those who only look whether the lock is held.
	lockPatience = 250 * time.Millisecond
)

// Holder is the process that writes a run.
type Holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
	Command string    `json:"command"`
}

func (h Holder) String() string {
	if h.PID == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d on %s (%s), since %s", h.PID, h.Host, h.Command, h.Started.Format(time.RFC3339))
}

// takeLock makes this process the one writer. The system gives the lock back when
// the process ends, so that a dead holder keeps nobody out.
func takeLock(logs *os.Root, id, command string, now time.Time) (*os.File, error) {
	f, err := createFile(logs, lockFile)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	err = lockfile.Wait(ctx, f)
	if errors.Is(err, context.DeadlineExceeded) {
		err = &BusyError{ID: id, Holder: readHolder(f)}
	}
	if err == nil {
		err = writeHolder(f, command, now)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func writeHolder(f *os.File, command string, now time.Time) error {
	host, _ := os.Hostname() // for people; the lock does not depend on it
	text, err := json.Marshal(Holder{os.Getpid(), host, now, command})
	if err == nil && len(text) > maxHolder {
		text, err = json.Marshal(Holder{PID: os.Getpid(), Host: host, Started: now})
	}
	if err != nil {
		return fmt.Errorf("naming the holder of the lock: %w", err)
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(text, 0)
	return err
}

// readHolder reads who has the lock; the zero Holder when that is not known.
func readHolder(f *os.File) (h Holder) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxHolder))
	if err != nil || json.Unmarshal(text, &h) != nil {
		return Holder{}
	}
	return h
}

// Holder returns who writes the run now, and whether anyone does.
func (r *Reader) Holder() (Holder, bool, error) { return holder(r.logs) }

func holder(logs *os.Root) (Holder, bool, error) {
	f, err := openFile(logs, lockFile, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return Holder{}, false, nil
	} else if err != nil {
		return Holder{}, false, err
	}
	defer f.Close() // and the lock is free again
	switch err := lockfile.Try(f); {
	case errors.Is(err, lockfile.ErrHeld):
		return readHolder(f), true, nil
	default:
		return Holder{}, false, err
	}
}
