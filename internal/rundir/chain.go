package rundir

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	flushAt = 256 << 10
	// maxUnwritten is how much is kept in memory while the disk takes nothing.
	maxUnwritten = 16 << 20
)

// Head is the end of the events: how many there are, the hash of the last line,
// and how many bytes they take, so that Open need not read what lies before.
type Head struct {
	Count int64 `json:"count"`
	Hash  Hash  `json:"hash"`
	Bytes int64 `json:"bytes"`
}

// chain writes events.jsonl. It is not safe for concurrent use.
type chain struct {
	file    *os.File
	head    Head   // after all that was appended
	written int64  // how many bytes of the file are good; the rest is in unwritten
	pending []byte // whole lines
	line    []byte // scratch
	late    error  // what a flush met that had no caller; nil once one succeeds
	broken  error  // the file's end is not known any more
}

// append adds an event to the chain, in memory. An error of the disk is returned,
// but the event stays and is written as soon as that works; it is refused, and no
// part of the chain, only when too much waits already.
func (c *chain) append(e Event) error {
	if c.broken != nil {
		return c.broken
	}
	if len(c.pending) >= maxUnwritten {
		if err := c.flush(); err != nil {
			return err
		}
	}
	c.add(e)
	if len(c.pending) >= flushAt {
		return c.flush()
	}
	return nil
}

func (c *chain) add(e Event) {
	e.Seq = c.head.Count + 1
	c.line = appendLine(c.line[:0], e, c.head.Hash)
	c.pending = append(append(c.pending, c.line...), '\n')
	c.head = Head{Count: e.Seq, Hash: sha256.Sum256(c.line), Bytes: c.head.Bytes + int64(len(c.line)) + 1}
}

// flush hands all lines to the system, which keeps them when this process dies.
func (c *chain) flush() error {
	if c.broken != nil || len(c.pending) == 0 {
		return c.broken
	}
	n, err := c.file.WriteAt(c.pending, c.written)
	if err != nil {
		if cut := c.file.Truncate(c.written); n > 0 && cut != nil {
			c.broken = fmt.Errorf("events: half a line could not be taken back: %w", cut)
		}
		return fmt.Errorf("writing events: %w", err)
	}
	c.written += int64(n)
	c.pending, c.late = c.pending[:0], nil
	return nil
}

// sync makes all lines last, even when the machine stops.
func (c *chain) sync() error {
	if err := c.flush(); err != nil {
		return err
	}
	if err := c.file.Sync(); err != nil {
		// What the system has thrown away it will not report again.
		c.broken = fmt.Errorf("syncing events: %w", err)
		return c.broken
	}
	return nil
}

func (c *chain) close() error {
	err := errors.Join(c.sync(), c.file.Close())
	c.broken = os.ErrClosed
	return err
}

// openChain goes on where state.json says that the events were, and replays what
// was written after. It returns the ledger at the end and how many bytes of half a
// line it cut off there. The first event's time is the run's start.
func openChain(logs *os.Root, from Head, l ledger) (*chain, ledger, int64, error) {
	file, err := openFile(logs, eventsFile, os.O_RDWR)
	if err != nil {
		return nil, l, 0, fmt.Errorf("opening the events: %w", err)
	}
	head, l, err := replay(file, from, l)
	torn := int64(0)
	if err == nil {
		torn, err = cutAt(file, head.Bytes)
	}
	if err != nil {
		file.Close()
		return nil, l, 0, err
	}
	return &chain{file: file, head: head, written: head.Bytes}, l, torn, nil
}

// cutAt cuts a file off at size and returns how many bytes were behind.
func cutAt(file *os.File, size int64) (int64, error) {
	info, err := file.Stat()
	if err != nil || info.Size() == size {
		return 0, err
	}
	return info.Size() - size, file.Truncate(size)
}

// startOf reads the time of the first event.
func startOf(logs *os.Root) (time.Time, error) {
	file, err := openFile(logs, eventsFile, os.O_RDONLY)
	if err != nil {
		return time.Time{}, err
	}
	defer file.Close()
	lines := lineReader{file: file}
	line, err := lines.next()
	if err != nil {
		return time.Time{}, bad(eventsPath, 1, "%v", err)
	}
	first, _, err := parseLine(line)
	if err != nil {
		return time.Time{}, bad(eventsPath, 1, "%v", err)
	}
	return first.Time, nil
}
