package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/sandbox"
)

// eventLog is the file of "--events": what the gate decides, one JSON object a
// line. A nil log takes everything and keeps nothing.
type eventLog struct {
	mu   sync.Mutex
	file *os.File
	err  error // the first that went wrong; nothing is written after it
}

// openEventLog appends to path, which nobody else can read, and which the sandbox
// must not be able to write: its record is not its own to change.
func openEventLog(path string, mounts []sandbox.Mount) (*eventLog, error) {
	if path == "" {
		return nil, nil
	}
	if err := checkRecord("--events", path, mounts); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of events: %w", err)
	}
	return &eventLog{file: file}, nil
}

// checkRecord refuses a place for a record that the sandbox can write.
func checkRecord(flag, path string, mounts []sandbox.Mount) error {
	place, err := realFolder(path)
	if err != nil {
		return usageError{fmt.Errorf("%s %s: %w", flag, path, err), ""}
	}
	for _, m := range mounts {
		if !m.ReadOnly && sandbox.Within(place, m.Source) {
			return usageError{fmt.Errorf("%s %s: the command can write in %s, and so alter its own record", flag, path, m.Source), "choose a file outside the workspace"}
		}
	}
	return nil
}

// realFolder is the folder of a file, without links.
func realFolder(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(filepath.Dir(absolute))
}

func (l *eventLog) write(e gate.Event) {
	if l == nil {
		return
	}
	line, err := json.Marshal(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	if err == nil {
		_, err = l.file.Write(append(line, '\n'))
	}
	l.err = err
}

// close reports what went wrong with the log as well: a record with holes must
// not pass for a whole one.
func (l *eventLog) close() error {
	if l == nil {
		return nil
	}
	err := errors.Join(l.err, l.file.Close())
	if err != nil {
		return fmt.Errorf("writing the log of events: %w", err)
	}
	return nil
}
