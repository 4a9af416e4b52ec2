package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/agent-loop/ralph/internal/rundir"
)

// rawLines reads the lines of the record as they are, in step with the events that
// a rundir.Reader returns: it is only asked for lines that are whole by then. It
// keeps no half line, for a writer may take that back.
type rawLines struct {
	file   *os.File
	offset int64  // of what follows the buffer
	buffer []byte // whole lines
}

// openRaw opens the record of a run, inside the run's folder.
func openRaw(r *rundir.Reader) (*rawLines, error) {
	folder, err := os.OpenRoot(r.Path())
	if err != nil {
		return nil, fmt.Errorf("opening the events: %w", err)
	}
	defer folder.Close()
	file, err := folder.Open("logs/events.jsonl")
	if err != nil {
		return nil, fmt.Errorf("opening the events: %w", err)
	}
	return &rawLines{file: file}, nil
}

// next returns the line of an event, which must follow that of the call before.
// It lives until the next call.
func (r *rawLines) next(e rundir.Event) ([]byte, error) {
	if len(r.buffer) == 0 {
		if err := r.fill(); err != nil {
			return nil, fmt.Errorf("reading event %d: %w", e.Seq, err)
		}
	}
	line, rest, _ := bytes.Cut(r.buffer, []byte("\n"))
	r.buffer = rest
	if !bytes.HasPrefix(line, fmt.Appendf(nil, `{"seq":%d,`, e.Seq)) {
		return nil, fmt.Errorf("reading event %d: the record changed meanwhile", e.Seq)
	}
	return line, nil
}

// fill reads whole lines, at least one.
func (r *rawLines) fill() error {
	for room := 256 << 10; room <= 2*rundir.MaxLine; room *= 2 {
		piece := make([]byte, room)
		n, err := r.file.ReadAt(piece, r.offset)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if end := bytes.LastIndexByte(piece[:n], '\n'); end >= 0 {
			r.buffer = piece[:end+1]
			r.offset += int64(end) + 1
			return nil
		}
		if n < room {
			return io.ErrUnexpectedEOF
		}
	}
	return errors.New("the line is too long")
}

func (r *rawLines) close() { r.file.Close() }
