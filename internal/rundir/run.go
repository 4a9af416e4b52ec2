package rundir

import (
	"errors"
	"os"
	"sync"
	"time"
)

// flushAfter is how long an event waits for others before readers can see it.
const flushAfter = 50 * time.Millisecond

// Run is a run that this process writes. There is one at a time, in all processes.
// Its methods may be called by several goroutines.
type Run struct {
	*Reader
	options Options
	lock    *os.File
	start   time.Time // of the run: no event is earlier

	mu         sync.Mutex
	chain      *chain
	iterations *os.File
	written    int64 // how many bytes of iterations are good
	ledger     ledger
	flusher    *time.Timer // nil while nothing waits
}

// Append adds an event. Data is anything that can be JSON, or nil.
//
// The event is in the system's hands, out of reach of a kill, after a moment or
// the next Sync. When the disk takes nothing, Append says so, but keeps the event
// to write it later: it need not and must not be repeated.
func (r *Run) Append(kind string, iteration int, data any) error {
	encoded, err := encodeData(data)
	if err != nil {
		return err
	}
	return r.appendData(Event{Type: kind, Iteration: iteration, Data: encoded})
}

// AppendRaw adds an event whose data are bytes that should be JSON, as a line of
// an agent's output. Whatever else they are is kept as a Text.
func (r *Run) AppendRaw(kind string, iteration int, raw []byte) error {
	data, err := rawData(raw)
	if err != nil {
		return err
	}
	return r.appendData(Event{Type: kind, Iteration: iteration, Data: data})
}

func (r *Run) appendData(e Event) error {
	switch e.Type {
	case EventCreated, EventRepair, EventIteration, EventCheckpoint, EventState:
		return errors.New("events of type " + e.Type + " are written by the run itself")
	}
	if err := checkType(e.Type); err != nil {
		return err
	}
	if e.Iteration < 0 {
		return errors.New("an event's iteration is negative")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	data, err := fitData(e.Data, r.options.Mask)
	if err != nil {
		return err
	}
	e.Data = data
	return r.add(e)
}

// add appends a checked event and books it. What the ledger refuses is not written.
func (r *Run) add(e Event) error {
	after := r.ledger
	if err := after.apply(e); err != nil {
		return err
	}
	e.Time = r.now()
	count := r.chain.head.Count
	err := r.chain.append(e)
	if r.chain.head.Count > count {
		r.ledger = after
		r.flushSoon()
	}
	if err == nil { // or the flusher's failure would be told nobody
		err, r.chain.late = r.chain.late, nil
	}
	return err
}

// now is the clock, but never before the start.
func (r *Run) now() time.Time {
	now := r.options.Now().UTC().Round(0)
	if now.Before(r.start) {
		return r.start
	}
	return now
}

func (r *Run) flushSoon() {
	if r.flusher != nil || len(r.chain.pending) == 0 {
		return
	}
	r.flusher = time.AfterFunc(flushAfter, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.flusher = nil
		if err := r.chain.flush(); err != nil && !errors.Is(err, os.ErrClosed) {
			r.chain.late = err
		}
	})
}

// Sync returns when all events so far would outlive the machine's stop.
func (r *Run) Sync() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.chain.sync()
}

// Head returns the end of the events so far.
func (r *Run) Head() Head {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.chain.head
}

// Spent returns what all charges of the run add up to, over all its sessions.
func (r *Run) Spent() Spend {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.Total
}

// Iterated returns how many iterations are recorded.
func (r *Run) Iterated() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.Iterations
}

// Close writes what waits and gives the run to others. It does not save the state.
func (r *Run) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if errors.Is(r.chain.broken, os.ErrClosed) {
		return nil
	}
	if r.flusher != nil {
		r.flusher.Stop()
	}
	return errors.Join(r.chain.close(), r.iterations.Close(), r.lock.Close(), r.Reader.Close())
}
