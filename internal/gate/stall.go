package gate

import (
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// idleConn fails when an upstream neither sends nor takes a byte for idle.
type idleConn struct {
	net.Conn
	idle time.Duration
}

func (c *idleConn) Read(p []byte) (int, error) {
	c.Conn.SetReadDeadline(time.Now().Add(c.idle))
	return c.Conn.Read(p)
}

// Write puts off the read as well: an upstream may wait for the whole request.
func (c *idleConn) Write(p []byte) (int, error) {
	c.Conn.SetDeadline(time.Now().Add(c.idle))
	return c.Conn.Write(p)
}

// clientBody counts the request's body and fails when the client stalls.
// The transport may read it after the exchange has ended.
type clientBody struct {
	io.ReadCloser
	control *http.ResponseController
	idle    time.Duration
	count   atomic.Int64
}

func (b *clientBody) Read(p []byte) (int, error) {
	b.control.SetReadDeadline(time.Now().Add(b.idle))
	n, err := b.ReadCloser.Read(p)
	b.count.Add(int64(n))
	if err == io.EOF { // net/http goes on reading, to see the client leave
		b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// clientWriter counts the response's body and fails when the client stalls.
type clientWriter struct {
	http.ResponseWriter
	x *exchange
}

// Unwrap lets http.ResponseController flush.
func (w *clientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader writes at once when status is informational.
func (w *clientWriter) WriteHeader(status int) {
	w.x.event.Status = status
	w.putOff()
	w.ResponseWriter.WriteHeader(status)
}

func (w *clientWriter) putOff() {
	http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.x.proxy.limits.IdleTimeout))
}

func (w *clientWriter) Write(p []byte) (int, error) {
	w.putOff()
	n, err := w.ResponseWriter.Write(p)
	w.x.event.BytesDown += int64(n)
	return n, err
}
