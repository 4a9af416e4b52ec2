package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

var (
	errTorn    = errors.New("the last line has no end")
	errTooLong = fmt.Errorf("the line is longer than %d bytes", MaxLine)
)

const readSize = 256 << 10

// lineReader reads whole lines of a file that may still grow. It holds one line
// and a piece more in memory, however large the file is.
type lineReader struct {
	file   io.ReaderAt
	offset int64  // where the next line begins
	buffer []byte // what the file holds from there on
}

// next returns a line without its line feed, which lives until the call after.
// It returns io.EOF where the file ends with a line, and errTorn where it ends
// amid one: both may be tried again, once there is more.
func (r *lineReader) next() ([]byte, error) {
	searched := 0
	for {
		if end := bytes.IndexByte(r.buffer[searched:], '\n'); end >= 0 {
			line := r.buffer[:searched+end]
			r.buffer = r.buffer[searched+end+1:]
			r.offset += int64(len(line)) + 1
			if len(line) > MaxLine {
				return nil, errTooLong
			}
			return line, nil
		}
		if searched = len(r.buffer); searched > MaxLine {
			return nil, errTooLong
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads a piece more. At the end of the file it forgets what it has: the
// writer may have cut off half a line and written another since.
func (r *lineReader) fill() error {
	piece := make([]byte, len(r.buffer)+readSize)
	copy(piece, r.buffer)
	n, err := r.file.ReadAt(piece[len(r.buffer):], r.offset+int64(len(r.buffer)))
	switch {
	case n > 0:
		r.buffer = piece[:len(r.buffer)+n]
		return nil
	case !errors.Is(err, io.EOF):
		return err
	case len(r.buffer) > 0:
		r.buffer = nil
		return errTorn
	}
	return io.EOF
}

// lineBefore returns the whole line that ends at an offset of a file.
func lineBefore(file io.ReaderAt, offset int64) ([]byte, error) {
	start := max(0, offset-MaxLine-2)
	piece := make([]byte, offset-start)
	if n, err := file.ReadAt(piece, start); n < len(piece) {
		return nil, fmt.Errorf("it is shorter than %d bytes: %w", offset, err)
	}
	if len(piece) == 0 || piece[len(piece)-1] != '\n' {
		return nil, fmt.Errorf("no line ends at byte %d", offset)
	}
	piece = piece[:len(piece)-1]
	if begin := bytes.LastIndexByte(piece, '\n'); begin >= 0 {
		return piece[begin+1:], nil
	} else if start > 0 {
		return nil, errTooLong
	}
	return piece, nil
}

// lastLineEnd returns where the last whole line of a file ends, reading its tail.
func lastLineEnd(file io.ReaderAt, size int64) (int64, error) {
	start := max(0, size-MaxLine-2)
	piece := make([]byte, size-start)
	if n, err := file.ReadAt(piece, start); n < len(piece) {
		return 0, err
	}
	end := bytes.LastIndexByte(piece, '\n')
	if end < 0 && start > 0 {
		return 0, errTooLong
	}
	return start + int64(end) + 1, nil
}
