package door

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// maxQueue caps the control frames that wait to be written. An honest peer
// reads all the time and has at most maxIDs streams with a few frames each, so
// only a peer that asks for replies and never reads them gets there.
const maxQueue = 64 << 10

var errNotReading = violation("peer does not read its replies")

// sender is the writing half of a session. Data frames are written by the
// goroutine that has the data, so that header and payload go out in one system
// call without a copy. Control frames are queued, which never blocks, and go
// out ahead of the next data frame or by the flush loop, whichever comes first:
// frames leave in the order in which they were queued or begun.
type sender struct {
	conn  net.Conn
	token chan struct{} // held by whoever writes to conn
	kick  chan struct{} // tells the flush loop to look
	done  <-chan struct{}
	fail  func(error) // ends the session; must not block

	mu    sync.Mutex
	queue []byte
	spare []byte

	// Of the holder of the token:
	tail   []byte // what remains of frames whose writer gave up
	header [headerSize]byte
	bufs   net.Buffers
}

func newSender(conn net.Conn, done <-chan struct{}, fail func(error)) *sender {
	return &sender{
		conn:  conn,
		token: make(chan struct{}, 1),
		kick:  make(chan struct{}, 1),
		done:  done,
		fail:  fail,
	}
}

// enqueue sends a control frame soon. It never blocks.
func (w *sender) enqueue(frames ...frame) {
	w.mu.Lock()
	for _, f := range frames {
		w.queue = f.append(w.queue)
	}
	full := len(w.queue) > maxQueue
	w.mu.Unlock()
	if full {
		w.fail(errNotReading)
	}
	ping(w.kick)
}

// flushLoop writes queued control frames until the session is done.
func (w *sender) flushLoop() {
	for {
		select {
		case <-w.kick:
		case <-w.done:
			return
		}
		select {
		case w.token <- struct{}{}:
			w.write(0, nil, never)
			w.release()
		case <-w.done:
			return
		}
	}
}

func never() bool { return false }

// data sends one data frame. It returns false if the frame was not begun:
// because the session is done, or because cancelled turned true. After
// cancelled turns true, wake must be pinged and interrupt called.
//
// A frame that was begun counts as sent. If cancelled turns true in the middle
// of it, what remains is kept and the flush loop writes it: a frame cannot be
// left half written, and a deadline cannot wait for a peer that does not read.
func (w *sender) data(stream uint32, payload []byte, cancelled func() bool, wake <-chan struct{}) bool {
	for !w.acquire(wake) {
		if w.isDone() || cancelled() {
			return false
		}
	}
	defer w.release()
	// An interrupt may have come before the token did, and be forgotten by now.
	if cancelled() {
		return false
	}
	return w.write(stream, payload, cancelled)
}

func (w *sender) acquire(wake <-chan struct{}) bool {
	select {
	case w.token <- struct{}{}:
		return true
	default:
	}
	select {
	case w.token <- struct{}{}:
		return true
	case <-wake:
	case <-w.done:
	}
	return false
}

func (w *sender) release() {
	unfinished := len(w.tail) > 0
	<-w.token
	if unfinished {
		ping(w.kick)
	}
}

// interrupt makes the holder of the token look at its cancelled function. A
// holder that was not meant clears the deadline and goes on.
func (w *sender) interrupt() { w.conn.SetWriteDeadline(time.Unix(1, 0)) }

// write writes the tail, the queue and, if there is a payload, a data frame. The
// caller holds the token. It returns whether the data frame was begun.
func (w *sender) write(stream uint32, payload []byte, cancelled func() bool) bool {
	control := w.takeQueue()
	w.bufs = w.bufs[:0]
	own := 0
	for _, b := range [][]byte{w.tail, control} {
		if len(b) > 0 {
			w.bufs = append(w.bufs, b)
		}
	}
	if len(payload) > 0 {
		head := frame{stream, kindData, len(payload)}.append(w.header[:0])
		w.bufs = append(w.bufs, head, payload)
		own = headerSize + len(payload)
	}
	rest := w.bufs // consumed by WriteTo; w.bufs keeps the array
	if !w.writeAll(&rest, cancelled) {
		return false
	}
	left := size(rest)
	begun := left < own
	if !begun {
		left -= own
	}
	w.tail = concat(rest, left)
	w.putQueue(control)
	clear(w.bufs[:cap(w.bufs)])
	return begun
}

// writeAll writes bufs until they are empty or cancelled turns true. It returns
// false if the connection failed.
func (w *sender) writeAll(bufs *net.Buffers, cancelled func() bool) bool {
	for len(*bufs) > 0 {
		_, err := bufs.WriteTo(w.conn)
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			// Clear first: a cancel that comes after the look below
			// interrupts again.
			w.conn.SetWriteDeadline(time.Time{})
			if cancelled() {
				return true
			}
		default:
			w.fail(err)
			return false
		}
	}
	return true
}

func (w *sender) takeQueue() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.queue
	w.queue, w.spare = w.spare[:0], nil
	return q
}

func (w *sender) putQueue(q []byte) {
	w.mu.Lock()
	w.spare = q[:0]
	w.mu.Unlock()
}

func (w *sender) isDone() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

func size(bufs net.Buffers) int {
	n := 0
	for _, b := range bufs {
		n += len(b)
	}
	return n
}

// concat copies the first n bytes of bufs.
func concat(bufs net.Buffers, n int) []byte {
	if n == 0 {
		return nil
	}
	out := make([]byte, 0, n)
	for _, b := range bufs {
		out = append(out, b[:min(len(b), n-len(out))]...)
	}
	return out
}

// ping tells whoever waits on c to look again; c has room for one.
func ping(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
