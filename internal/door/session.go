package door

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
)

// readBuffer lets one system call take in many small frames. Payloads larger
// than what is left in it go around it.
const readBuffer = 64 << 10

// role is what differs between the two sides.
type role struct {
	name, peer    string
	sendWindow    int
	receiveWindow int
	chunkSize     int // unit of receive buffers, and the largest write of WriteTo
}

// The guest, where a system call costs the most, moves bytes in larger chunks.
// The host, whose memory is at stake, does with smaller ones.
var (
	hostRole = role{
		name: "host", peer: "guest",
		sendWindow: downloadWindow, receiveWindow: uploadWindow, chunkSize: 256 << 10,
	}
	guestRole = role{
		name: "guest", peer: "host",
		sendWindow: uploadWindow, receiveWindow: downloadWindow, chunkSize: 1 << 20,
	}
)

// errTooManyStreams is why the guest does not open another stream.
var errTooManyStreams = errors.New("too many streams")

// session is one end of the door: the socket, the streams on it and the loop
// that receives for all of them. That loop never waits for a stream's reader
// and never writes to the socket, so neither a slow stream nor a peer that is
// itself waiting to write can stop it.
type session struct {
	role   role
	conn   net.Conn
	out    *sender
	chunks chunkPool

	ready    chan struct{} // host: closed when the guest said hello
	incoming chan *Stream  // host: opened and not yet accepted
	failed   chan struct{} // closed when the session is doomed
	over     chan struct{} // closed when all its streams know

	mu      sync.Mutex
	streams map[uint32]*Stream // until both sides sent a reset
	live    int                // how many streams are not closed on this side
	lastID  uint32             // guest: last stream opened
	err     error              // why the session ended
}

// newSession takes over conn and starts to receive.
func newSession(conn net.Conn, role role) *session {
	s := &session{
		role:     role,
		conn:     conn,
		chunks:   chunkPool{size: role.chunkSize},
		ready:    make(chan struct{}),
		incoming: make(chan *Stream, MaxStreams),
		failed:   make(chan struct{}),
		over:     make(chan struct{}),
		streams:  make(map[uint32]*Stream),
	}
	s.out = newSender(conn, s.failed, s.fail)
	go s.out.flushLoop()
	go s.run()
	return s
}

func (s *session) run() {
	s.fail(s.receive(bufio.NewReaderSize(s.conn, readBuffer)))
	s.mu.Lock()
	streams := s.streams
	s.streams = nil // no stream is opened from here on
	s.mu.Unlock()
	for _, stream := range streams {
		stream.sessionEnded(s.cause())
	}
	close(s.over)
}

// fail ends the session; the first cause counts. It does not block and takes no
// stream's lock: the receive loop, which then cannot go on, tells the streams.
func (s *session) fail(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	if errors.Is(cause, syscall.EPIPE) || errors.Is(cause, syscall.ECONNRESET) {
		cause = io.EOF // the peer is gone; which side of us noticed first is chance
	}
	s.err = fmt.Errorf("the door is shut: %w", cause)
	close(s.failed)
	s.conn.Close()
}

// cause says why the session ended.
func (s *session) cause() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// receive handles frames until one is wrong or the connection ends. The error
// is io.EOF if it ended between two frames.
func (s *session) receive(r *bufio.Reader) error {
	var header [headerSize]byte
	for {
		if _, err := io.ReadFull(r, header[:]); err != nil {
			return err
		}
		f := parse(header[:])
		if err := f.check(); err != nil {
			return err
		}
		if err := s.handle(f, r); err != nil {
			return err
		}
	}
}

func (s *session) handle(f frame, r *bufio.Reader) error {
	if err := s.checkDirection(f); err != nil {
		return err
	}
	switch f.kind {
	case kindHello:
		close(s.ready)
		return nil
	case kindOpen:
		return s.receiveOpen(f.stream)
	}
	stream := s.lookup(f.stream)
	if stream == nil {
		return violation("%v on stream %d, which is not open", f.kind, f.stream)
	}
	switch f.kind {
	case kindData:
		return stream.receiveData(r, f.value)
	case kindWindow:
		return stream.receiveWindow(f.value)
	case kindEnd:
		return stream.receiveEnd()
	default:
		return stream.receiveReset()
	}
}

// checkDirection keeps the host from greeting and opening, and the guest from
// doing anything before it has greeted, once.
func (s *session) checkDirection(f frame) error {
	if s.role == guestRole {
		if f.kind == kindHello || f.kind == kindOpen {
			return violation("%v from the host", f.kind)
		}
		return nil
	}
	greeted := false
	select {
	case <-s.ready:
		greeted = true
	default:
	}
	if greeted == (f.kind == kindHello) {
		return violation("%v out of turn", f.kind)
	}
	return nil
}

// receiveOpen makes the stream that the guest opened and queues it for Accept,
// or resets it when there are too many.
func (s *session) receiveOpen(id uint32) error {
	stream, err := s.add(id)
	if err != nil {
		return err
	}
	s.mu.Lock()
	crowded := s.live > MaxStreams
	s.mu.Unlock()
	if crowded {
		stream.abort()
		return nil
	}
	s.incoming <- stream // has room for MaxStreams, all of which are live
	return nil
}

// open is how the guest makes a stream.
func (s *session) open() (*Stream, error) {
	s.mu.Lock()
	for s.lastID++; s.lastID == 0 || s.streams[s.lastID] != nil; s.lastID++ {
	}
	id := s.lastID
	s.mu.Unlock()
	stream, err := s.add(id)
	if err != nil {
		return nil, err
	}
	s.out.enqueue(frame{id, kindOpen, 0})
	return stream, nil
}

func (s *session) add(id uint32) (*Stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.streams == nil:
		return nil, s.err
	case s.streams[id] != nil:
		return nil, violation("stream %d is already open", id)
	case len(s.streams) >= maxIDs && s.role == guestRole:
		return nil, errTooManyStreams
	case len(s.streams) >= maxIDs:
		return nil, violation("more than %d streams", maxIDs)
	}
	stream := newStream(id, s)
	s.streams[id] = stream
	s.live++
	return stream, nil
}

func (s *session) lookup(id uint32) *Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[id]
}

// leave notes that a stream was closed on this side.
func (s *session) leave() {
	s.mu.Lock()
	s.live--
	s.mu.Unlock()
}

// forget frees the number of a stream.
func (s *session) forget(id uint32) {
	s.mu.Lock()
	delete(s.streams, id)
	s.mu.Unlock()
}

// unexpected turns an end in the middle of a frame into an error of its own.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
