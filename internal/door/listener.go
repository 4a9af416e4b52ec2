package door

import (
	"net"
	"os"
)

// Listener is the host's end of the door. It is a net.Listener whose
// connections, of type *Stream, are those that programs in the sandbox make.
type Listener struct{ sess *session }

var _ net.Listener = (*Listener)(nil)

// NewListener listens on the host's end of a Pair. It takes over f, also when
// it fails.
func NewListener(f *os.File) (*Listener, error) {
	conn, err := fileConn(f)
	if err != nil {
		return nil, err
	}
	return Listen(conn), nil
}

// Listen listens on any connection that leads to the guest's end. It takes over
// conn, whose Write must return when its deadline is set to the past.
func Listen(conn net.Conn) *Listener { return &Listener{newSession(conn, hostRole)} }

// Ready returns a channel that is closed when the guest has said that it is
// forwarding. It stays open if the guest never does; Done tells then.
func (l *Listener) Ready() <-chan struct{} { return l.sess.ready }

// Done returns a channel that is closed when the session has ended, for
// whatever reason; Accept then returns the reason.
func (l *Listener) Done() <-chan struct{} { return l.sess.over }

// Accept is part of net.Listener. Once the session has ended it returns an
// error that wraps net.ErrClosed after Close, ErrProtocol if the guest broke the
// protocol, and io.EOF if the guest went away.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case <-l.sess.over:
		return nil, l.sess.cause()
	default:
	}
	select {
	case stream := <-l.sess.incoming:
		return stream, nil
	case <-l.sess.over:
		return nil, l.sess.cause()
	}
}

// Close ends the session and with it every stream, accepted or not. It returns
// when all of them have been told.
func (l *Listener) Close() error {
	l.sess.fail(net.ErrClosed)
	<-l.sess.over
	return nil
}

// Addr is part of net.Listener.
func (l *Listener) Addr() net.Addr { return address(l.sess.role.name) }
