package door

import (
	"errors"
	"io"
	"net"
)

// Guest is the guest's end of a door, for those who open streams themselves.
// Forward is for those who only have connections to send through.
type Guest struct{ sess *session }

// Join greets the host over conn, which it takes over. Its Write must return
// when its deadline is set to the past.
func Join(conn net.Conn) *Guest {
	g := &Guest{newSession(conn, guestRole)}
	g.sess.out.enqueue(frame{0, kindHello, version})
	return g
}

// Open makes a stream, which the host's Listener accepts. It fails when the
// session is over or has too many streams.
func (g *Guest) Open() (*Stream, error) { return g.sess.open() }

// Done returns a channel that is closed when the session has ended.
func (g *Guest) Done() <-chan struct{} { return g.sess.over }

// Err is why the session ended; nil when the host ended it in good order.
func (g *Guest) Err() error {
	if err := g.sess.cause(); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// Close ends the session and with it every stream.
func (g *Guest) Close() error {
	g.sess.fail(net.ErrClosed)
	<-g.sess.over
	return nil
}
