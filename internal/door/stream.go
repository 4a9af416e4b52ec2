package door

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// idleBuffer is what ReadFrom holds for a connection that moves little.
const idleBuffer = 16 << 10

// Stream is one connection through the door. It is a net.Conn that can also be
// closed for writing alone, and that copies to and from other connections with
// few, large reads and writes. Its owner must Close it: until then it takes one
// of the places that MaxStreams counts.
type Stream struct {
	id   uint32
	sess *session

	reading  sync.Mutex    // held by Read and WriteTo
	writing  sync.Mutex    // held by Write
	readable chan struct{} // the reader should look again
	writable chan struct{} // the writer should look again
	gone     chan struct{} // closed once the peer reads no more

	// mu is held for moments only: the receive loop takes it. Locks are taken
	// in the order Stream.mu, session.mu, sender.mu.
	mu            sync.Mutex
	in            buffer
	receiveCredit int   // what the peer may still send
	taken         int   // what the reader took and the peer may not yet send again
	sendCredit    int   // what we may still send
	sending       bool  // a data frame is on its way to the socket
	writeClosed   bool  // CloseWrite or Close was called
	closed        bool  // Close was called
	endSent       bool  // our end, or a reset without one, is queued
	resetSent     bool  // our reset is queued
	remoteEnd     bool  // the peer's end has come
	remoteReset   bool  // the peer's reset has come
	err           error // the session ended

	readDeadline, writeDeadline deadline
}

var _ interface {
	net.Conn
	io.ReaderFrom
	io.WriterTo
	CloseWrite() error
} = (*Stream)(nil)

func newStream(id uint32, sess *session) *Stream {
	return &Stream{
		id:            id,
		sess:          sess,
		readable:      make(chan struct{}, 1),
		writable:      make(chan struct{}, 1),
		gone:          make(chan struct{}),
		in:            buffer{pool: &sess.chunks},
		receiveCredit: sess.role.receiveWindow,
		sendCredit:    sess.role.sendWindow,
	}
}

// Read is part of net.Conn.
func (s *Stream) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	data, err := s.next()
	if err != nil {
		return 0, err
	}
	n := copy(p, data)
	s.drained(n)
	return n, nil
}

// WriteTo is part of io.WriterTo. It hands w everything that has arrived at
// once, straight from the receive buffer.
func (s *Stream) WriteTo(w io.Writer) (int64, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	var total int64
	for {
		data, err := s.next()
		if err == io.EOF { //nolint:errorlint // the error of a dead session wraps it, and is no end
			return total, nil
		}
		if err != nil {
			return total, err
		}
		n, err := w.Write(data)
		total += int64(n)
		s.drained(n)
		if err != nil {
			return total, err
		}
		if n < len(data) {
			return total, io.ErrShortWrite
		}
	}
}

// next waits for data and lends it until drained.
func (s *Stream) next() ([]byte, error) {
	for {
		s.mu.Lock()
		data, err := s.in.next(), s.readError()
		s.mu.Unlock()
		if err != nil || len(data) > 0 {
			return data, err
		}
		<-s.readable
	}
}

// readError says why a Read must return now, or nil if it may have data or wait.
func (s *Stream) readError() error {
	switch {
	case s.closed:
		return net.ErrClosed
	case s.readDeadline.passed():
		return os.ErrDeadlineExceeded
	case len(s.in.next()) > 0:
		return nil
	case s.remoteEnd:
		return io.EOF
	case s.remoteReset:
		return syscall.ECONNRESET
	}
	return s.err
}

// drained gives back n bytes of the buffer and, when half the window was
// taken, grants them to the peer again.
func (s *Stream) drained(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.in.drained(n)
	s.taken += n
	if s.taken < s.sess.role.receiveWindow/2 || s.closed || s.remoteEnd || s.remoteReset || s.err != nil {
		return
	}
	s.sess.out.enqueue(frame{s.id, kindWindow, s.taken})
	s.receiveCredit += s.taken
	s.taken = 0
}

// Write is part of net.Conn. As with a socket, what it reports as written is on
// its way, not necessarily delivered.
func (s *Stream) Write(p []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	total := 0
	for {
		n, err := s.reserve(len(p) - total)
		if err != nil || n == 0 {
			return total, err
		}
		sent := s.sess.out.data(s.id, p[total:total+n], s.writeCancelled, s.writable)
		if sent {
			total += n
		}
		s.sendDone(n, sent)
		if total == len(p) {
			return total, nil
		}
	}
}

// ReadFrom is part of io.ReaderFrom. It reads into a small buffer, for most
// connections are idle most of the time, until one read fills it, and from then
// on in pieces that are worth a frame.
func (s *Stream) ReadFrom(r io.Reader) (int64, error) {
	buf := make([]byte, idleBuffer)
	var total int64
	for {
		n, err := r.Read(buf)
		if n > 0 {
			m, err := s.Write(buf[:n])
			total += int64(m)
			if err != nil {
				return total, err
			}
		}
		if err == io.EOF { // as above
			return total, nil
		}
		if err != nil {
			return total, err
		}
		if n == idleBuffer && len(buf) == idleBuffer {
			c := s.sess.chunks.get()
			defer s.sess.chunks.put(c)
			buf = c.data
		}
	}
}

// reserve waits for credit and takes as much of it as one frame of at most want
// bytes needs. sendDone must follow, unless it took none.
func (s *Stream) reserve(want int) (int, error) {
	for {
		s.mu.Lock()
		err := s.writeError()
		n := 0
		if err == nil {
			n = min(want, s.sendCredit, maxPayload)
			s.sendCredit -= n
			s.sending = n > 0
		}
		s.mu.Unlock()
		if err != nil || n > 0 || want == 0 {
			return n, err
		}
		<-s.writable
	}
}

// sendDone ends what reserve began; a frame that was not sent returns its credit.
func (s *Stream) sendDone(n int, sent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sending = false
	if !sent {
		s.sendCredit += n
		if s.err == nil && s.sess.out.isDone() {
			s.err = s.sess.cause()
		}
	}
	s.settle()
}

// writeError says why a Write must return now.
func (s *Stream) writeError() error {
	switch {
	case s.closed:
		return net.ErrClosed
	case s.writeDeadline.passed():
		return os.ErrDeadlineExceeded
	case s.err != nil:
		return s.err
	case s.writeClosed, s.remoteReset:
		return syscall.EPIPE
	}
	return nil
}

// writeCancelled says whether a Write that waits for the socket should give up.
func (s *Stream) writeCancelled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed || s.writeDeadline.passed()
}
