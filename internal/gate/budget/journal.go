package budget

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// journal is an open ledger file and what its lines add up to. Its methods are
// called with the file's lock held.
type journal struct {
	path   string
	file   *os.File
	info   os.FileInfo // of the file, to tell it from another of that name
	reader *bufio.Reader
	syncer syncer

	state  state
	offset int64  // where the lines end that are in the state
	lines  int64  // how many these are
	sum    uint32 // of the last of them
	damage error  // for good: the state can not be trusted
	most   int64  // bytes; from there on only endings are written
}

// maxLedger is some three million calls. They may all have come to nothing, so
// that no cap ends them, and each made the file longer.
const maxLedger = 1 << 30

func openJournal(path string, flags int) (*journal, error) {
	f, err := openPrivate(path, flags)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	j := &journal{path: path, file: f, info: info, state: newState(), reader: bufio.NewReaderSize(nil, 16*maxLine), most: maxLedger}
	j.syncer.sync = (*os.File).Sync
	return j, nil
}

// catchUp reads what others have appended, and cuts a line that was never
// finished. It starts a new file with its first line.
func (j *journal) catchUp() error {
	if j.damage != nil {
		return j.damage
	}
	if err := checkName(j.path, j.info); err != nil {
		return fmt.Errorf("refusing %s: %w", j.path, err)
	}
	info, err := j.file.Stat()
	if err != nil {
		return err
	}
	if err := j.readTo(info.Size()); err != nil {
		return err
	}
	if j.offset < info.Size() {
		if err := j.file.Truncate(j.offset); err != nil {
			return fmt.Errorf("cutting an unfinished line of %s: %w", j.path, err)
		}
	}
	if !j.state.started {
		return j.append(record{Op: opLedger, V: version})
	}
	return nil
}

// readTo applies all whole lines up to size.
func (j *journal) readTo(size int64) error {
	if size < j.offset {
		return j.damaged(errors.New("the file has become shorter"))
	}
	j.reader.Reset(io.NewSectionReader(j.file, j.offset, size-j.offset))
	for j.offset < size {
		line, err := j.reader.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF):
			return j.checkUnfinished(line)
		case errors.Is(err, bufio.ErrBufferFull) || len(line) > maxLine:
			return j.damaged(errors.New("the line is too long"))
		case err != nil:
			return fmt.Errorf("reading %s: %w", j.path, err)
		}
		if err := j.read(line); err != nil {
			return j.damaged(err)
		}
	}
	return nil
}

// read applies one line with its line feed.
func (j *journal) read(line []byte) error {
	r, sum, err := decode(line[:len(line)-1], j.sum)
	if err != nil {
		return err
	}
	return j.accept(r, line, sum)
}

// accept adds a line that is in the file to the state.
func (j *journal) accept(r record, line []byte, sum uint32) error {
	if err := j.state.apply(r); err != nil {
		return err
	}
	j.offset += int64(len(line))
	j.lines++
	j.sum = sum
	j.syncer.written.Store(j.offset)
	return nil
}

// checkUnfinished decides whether the end of the file may be cut. A process was
// killed, the disk was full or the power failed while that line was written, so
// nothing was done on its word. But a file that was never ours is left alone.
func (j *journal) checkUnfinished(rest []byte) error {
	if len(rest) > maxLine {
		return j.damaged(errors.New("the line is too long"))
	}
	first, _, err := header()
	if err != nil {
		return err
	}
	blank := len(bytes.Trim(rest, "\x00")) == 0
	if !j.state.started && !blank && !bytes.HasPrefix(first, rest) {
		return j.damaged(errors.New("the file is no ledger"))
	}
	return nil
}

// append writes one record behind the last. What was written of it is taken back
// when it fails; what cannot be taken back is unfinished, and cut later.
func (j *journal) append(r record) error {
	if r.Op != opLedger {
		r.At = time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	}
	line, sum, err := encode(r, j.sum)
	if err != nil {
		return err
	}
	if _, err := j.file.WriteAt(line, j.offset); err != nil {
		return errors.Join(fmt.Errorf("writing the ledger: %w", err), j.file.Truncate(j.offset))
	}
	if err := j.accept(r, line, sum); err != nil {
		return j.damaged(err) // a record of ours that contradicts the file
	}
	return nil
}

// damaged records that the file can not be trusted from the line at offset on.
func (j *journal) damaged(err error) error {
	j.damage = &DamagedError{Path: j.path, Line: j.lines + 1, Offset: j.offset, Err: err}
	return j.damage
}

// sync brings all lines up to end to disk. It is called without the lock.
func (j *journal) sync(end int64) error { return j.syncer.upTo(j.file, end) }
