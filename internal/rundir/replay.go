package rundir

import (
	"crypto/sha256"
	"errors"
	"io"
	"time"
)

// replay follows the chain from a head that is known to the last whole line.
func replay(file io.ReaderAt, from Head, l ledger) (Head, ledger, error) {
	last, err := lineBefore(file, from.Bytes)
	if err != nil {
		return from, l, bad(eventsPath, int(from.Count), "%v, though state.json counts on it", err)
	}
	if sha256.Sum256(last) != from.Hash {
		return from, l, bad(eventsPath, int(from.Count), "it is not the line that state.json knows")
	}
	walk := walker{lines: lineReader{file: file, offset: from.Bytes}, head: from, ledger: l}
	for {
		if _, err := walk.next(); errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
			return walk.head, walk.ledger, nil
		} else if err != nil {
			return walk.head, walk.ledger, err
		}
	}
}

// walker reads events and checks each against the one before.
type walker struct {
	lines  lineReader
	head   Head // of the events read so far
	ledger ledger
	start  time.Time // no event may be earlier
}

// next returns the next event, io.EOF, errTorn, or a BadRecordError.
func (w *walker) next() (Event, error) {
	line, err := w.lines.next()
	if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
		return Event{}, err
	}
	n := int(w.head.Count) + 1
	if err != nil {
		return Event{}, bad(eventsPath, n, "%v", err)
	}
	e, prev, err := parseLine(line)
	switch {
	case err != nil:
		return Event{}, bad(eventsPath, n, "%v", err)
	case e.Seq != w.head.Count+1:
		return Event{}, bad(eventsPath, n, "event %d stands where %d is due", e.Seq, w.head.Count+1)
	case prev != w.head.Hash:
		return Event{}, bad(eventsPath, n, "it does not follow from %s", before(n))
	case e.Time.Before(w.start):
		return Event{}, bad(eventsPath, n, "its time %v is before the start of the run, %v", e.Time, w.start)
	}
	if err := w.ledger.apply(e); err != nil {
		return Event{}, bad(eventsPath, n, "%v", err)
	}
	w.head = Head{e.Seq, sha256.Sum256(line), w.head.Bytes + int64(len(line)) + 1}
	return e, nil
}

// before names what the prev of line n is the hash of.
func before(n int) string {
	if n == 1 {
		return specFile + ": one of the two was changed"
	}
	return "the line before: one of the two was changed"
}
