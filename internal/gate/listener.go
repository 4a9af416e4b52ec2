package gate

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// refusalSlots is how many connections beyond the cap are let in to be told so.
// When these are taken as well, further ones wait in the listener's queue.
const refusalSlots = 16

// limiter counts the connections of all listeners.
type limiter struct {
	slots  chan struct{} // one for each that is open
	served atomic.Int64  // of these, without those that are being refused
	most   int64         // to be served at once
}

func newLimiter(most int) *limiter {
	return &limiter{slots: make(chan struct{}, most+refusalSlots), most: int64(most)}
}

// take counts a connection whose slot is taken. It is over when it must be
// refused; release gives its slot back, once.
func (l *limiter) take() (over bool, release func()) {
	if l.served.Add(1) > l.most {
		l.served.Add(-1)
		return true, sync.OnceFunc(func() { <-l.slots })
	}
	return false, sync.OnceFunc(func() { l.served.Add(-1); <-l.slots })
}

// limitListener caps the connections that are open at once.
type limitListener struct {
	net.Listener
	limiter   *limiter
	headBytes int
	unserved  func() // see clientConn
	closed    chan struct{}
	closeOnce sync.Once
}

// Accept waits for a slot first, so that the kernel's queue pushes back.
func (l *limitListener) Accept() (net.Conn, error) {
	select {
	case l.limiter.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.limiter.slots
		return nil, err
	}
	over, release := l.limiter.take()
	return &clientConn{
		Conn:     conn,
		over:     over,
		head:     headRecorder{most: l.headBytes},
		unserved: l.unserved,
		release:  release,
	}, nil
}

func (l *limitListener) Close() error {
	l.closeOnce.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// clientConn is a client's connection while net/http reads its one request. A
// tunnel takes the bare Conn out of it, for copying between bare connections is
// much faster; closing the clientConn is still what gives its slot back.
type clientConn struct {
	net.Conn
	pending []byte  // read from Conn before, to be read again
	inner   *target // the connection came out of a tunnel to here
	opened  *opened // the same, and its TLS ended here
	over    bool    // beyond the cap: to be refused
	head    headRecorder
	release func()
	peer    atomic.Pointer[net.Conn] // of a tunnel: closed with it

	unserved func()      // called when net/http refused what was sent by itself
	began    atomic.Bool // something was sent
	handled  atomic.Bool // and became a request, or was reported as unserved
}

func (c *clientConn) Read(p []byte) (n int, err error) {
	if len(c.pending) > 0 {
		n = copy(p, c.pending)
		c.pending = c.pending[n:]
	} else {
		n, err = c.Conn.Read(p)
	}
	if c.opened != nil {
		c.opened.frames.see(p[:n])
		return n, err
	}
	c.head.record(p[:n])
	if n > 0 {
		c.began.Store(true)
	}
	return n, err
}

// CloseWrite lets net/http end a response without resetting the connection.
func (c *clientConn) CloseWrite() error {
	if half, ok := c.Conn.(halfCloser); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

func (c *clientConn) Close() error {
	defer c.release()
	if c.began.Load() && !c.handled.Swap(true) {
		c.unserved()
	}
	if c.opened != nil && c.opened.frames.unserved() {
		c.unserved()
	}
	if peer := c.peer.Load(); peer != nil {
		(*peer).Close() // a half-closed tunnel waits for it alone
	}
	return c.Conn.Close()
}

// headRecorder keeps the head of the first request as it came. net/http drops
// the Host header of an absolute-form request and mends shapes that should be
// refused; only the bytes themselves tell.
type headRecorder struct {
	most int
	data []byte
	done bool // data ends with the head's empty line, or is too long to be one
}

func (h *headRecorder) record(p []byte) {
	if h.done {
		return
	}
	from := max(0, len(h.data)-len(endOfHead)+1)
	h.data = append(h.data, p...)
	if end := bytes.Index(h.data[from:], endOfHead); end >= 0 {
		h.data, h.done = h.data[:from+end+len(endOfHead)], true
	}
	// net/http allows itself some slack above its limit, and answers the rest.
	h.done = h.done || len(h.data) > h.most+8<<10
}

var endOfHead = []byte("\r\n\r\n")

// oneConn is a listener for a connection that is there already.
type oneConn struct {
	conn net.Conn
	addr net.Addr
}

func (l *oneConn) Accept() (net.Conn, error) {
	conn := l.conn
	if conn == nil {
		return nil, io.EOF
	}
	l.conn = nil
	return conn, nil
}

func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return l.addr }
