package roster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/agent-loop/ralph/internal/sandbox"
)

// Record is what is written down of a sandbox.
type Record struct {
	sandbox.Status

	// Data is the engine's own; see Decode.
	Data json.RawMessage `json:"engine_data,omitempty"`
}

// Decode reads what the engine gave to Entry.Write. A record that could not be
// read, or was not written yet, has nothing to decode and is an error.
func (r Record) Decode(data any) error {
	if len(r.Data) == 0 {
		return fmt.Errorf("reading the record of %s: it says nothing about the sandbox", r.ID)
	}
	if err := json.Unmarshal(r.Data, data); err != nil {
		return fmt.Errorf("reading the record of %s: %w", r.ID, err)
	}
	return nil
}

// maxRecord bounds what is read of a record. Labels and paths are the largest
// part of it.
const maxRecord = 1 << 20

func recordPath(dir string) string { return filepath.Join(dir, "state.json") }

// writeRecord replaces the record at once: whoever reads it sees all of the old
// one or all of the new.
func writeRecord(dir string, status sandbox.Status, data any) error {
	record := Record{Status: status}
	var err error
	if data != nil {
		record.Data, err = json.Marshal(data)
	}
	var text []byte
	if err == nil {
		text, err = json.MarshalIndent(record, "", "  ")
	}
	if err == nil && len(text) > maxRecord {
		err = fmt.Errorf("it has %d bytes, and may have %d", len(text), maxRecord)
	}
	if err != nil {
		return fmt.Errorf("encoding the sandbox's state: %w", err)
	}
	beside := recordPath(dir) + ".new"
	err = os.WriteFile(beside, text, 0o600)
	if err == nil {
		err = os.Rename(beside, recordPath(dir))
	}
	if err != nil {
		return fmt.Errorf("writing the sandbox's state: %w", err)
	}
	return nil
}

// readRecord returns all of a record or nothing.
func readRecord(dir string) (Record, error) {
	text, err := readCapped(recordPath(dir))
	var record Record
	if err == nil {
		err = json.Unmarshal(text, &record)
	}
	if err != nil {
		return Record{}, fmt.Errorf("reading the sandbox's state: %w", err)
	}
	return record, nil
}

// readCapped reads a small plain file. Anything else might never end.
func readCapped(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no plain file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err == nil && len(text) > maxRecord {
		err = fmt.Errorf("it has more than %d bytes", maxRecord)
	}
	return text, err
}
