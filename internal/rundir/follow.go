package rundir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"time"
)

// pollEvery is how often a follower looks for more.
const pollEvery = 50 * time.Millisecond

// Events returns the events from number from on that are there now. An error ends
// it. The chain is not checked; see Verify.
func (r *Reader) Events(from int64) iter.Seq2[Event, error] {
	return r.events(from, func() bool { return false })
}

// Follow returns the events from number from on, and goes on with those that are
// written meanwhile, until ctx ends or nobody writes the run any more.
func (r *Reader) Follow(ctx context.Context, from int64) iter.Seq2[Event, error] {
	last := false
	return r.events(from, func() bool {
		if last || ctx.Err() != nil {
			return false
		}
		// One look more once the writer is gone, for what it wrote at last.
		if _, held, err := r.Holder(); err != nil || !held {
			last = true
			return true
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return false
		}
		return true
	})
}

// events reads to the end of the log and again as long as more says so.
func (r *Reader) events(from int64, more func() bool) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		file, err := openFile(r.logs, eventsFile, os.O_RDONLY)
		if err != nil {
			yield(Event{}, fmt.Errorf("opening the events: %w", err))
			return
		}
		defer file.Close()
		lines := lineReader{file: file}
		for n := int64(1); ; {
			line, err := lines.next()
			if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
				if !more() {
					return
				}
				continue
			}
			if n++; n <= from && err == nil {
				continue
			}
			e, err := parsed(line, err, n-1)
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func parsed(line []byte, err error, n int64) (Event, error) {
	var e Event
	if err == nil {
		e, _, err = parseLine(line)
	}
	if err != nil {
		return Event{}, bad(eventsPath, int(n), "%v", err)
	}
	return e, nil
}
