package stream

import (
	"io"
	"sync"
	"time"
)

const (
	writeAfter = 30 * time.Millisecond
	writeAt    = 64 << 10
)

// lateWriter gathers what is written for a moment, so that many lines are few
// writes and the last of them does not wait for the next. Once a write has failed,
// all others do; failed is called then.
type lateWriter struct {
	out    io.Writer
	failed func()

	mu      sync.Mutex
	pending []byte
	timer   *time.Timer // nil while nothing waits
	err     error
}

// print writes a line. It returns the error of any write before.
func (w *lateWriter) print(line string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = append(append(w.pending, line...), '\n')
	if len(w.pending) >= writeAt {
		w.flush()
	} else if w.timer == nil {
		w.timer = time.AfterFunc(writeAfter, w.wake)
	}
	return w.err
}

func (w *lateWriter) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = nil
	w.flush()
}

func (w *lateWriter) flush() {
	if w.err == nil && len(w.pending) > 0 {
		if _, w.err = w.out.Write(w.pending); w.err != nil {
			w.failed()
		}
	}
	w.pending = w.pending[:0]
}

// close writes what waits.
func (w *lateWriter) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.flush()
	return w.err
}
