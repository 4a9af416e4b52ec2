package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
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

// openEventLog appends to path. A new file is one that nobody else can read.
func openEventLog(path string, mounts []sandbox.Mount) (*eventLog, error) {
	if path == "" {
		return nil, nil
	}
	if err := checkRecord("--events", path, mounts); err != nil {
		return nil, err
	}
	file, err := openRecord(path)
	if err != nil {
		return nil, usageError{fmt.Errorf("opening the log of events: %w", err), "choose a file that does not exist yet"}
	}
	return &eventLog{file: file}, nil
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
	l.mu.Lock()
	defer l.mu.Unlock()
	err := errors.Join(l.err, l.file.Close())
	if err != nil {
		return fmt.Errorf("writing the log of events: %w", err)
	}
	return nil
}
