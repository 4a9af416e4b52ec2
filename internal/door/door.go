// Package door carries the connections of a sandbox through its one way out: a
// single stream socket, one end of which is passed into the sandbox.
//
// Inside, Forward listens where the agent's tools look for their proxy and
// sends every connection it accepts through the socket as a stream of its own.
// Outside, a Listener hands those streams to the proxy as ordinary net.Conns.
//
// # Protocol
//
// Both sides send frames: a header of eight bytes (stream, kind, value), and
// after a data frame's header as many bytes as its value says. The guest says
// hello once, before anything else. Only the guest opens streams. Each side may
// send on a stream as many bytes as the other has granted; both start with a
// window that is part of the protocol and grant again what their reader has
// taken, so a reader that is slow, or absent, holds up its own stream and no
// other, and no more than a window is ever held for it.
//
// End says that no more data follows. Reset says that its sender neither sends
// nor reads any more and is the last frame a side sends on a stream; a stream's
// number is taken until both sides have sent it. A reset that follows an end is
// an orderly close, one without is an abort.
//
// # Trust
//
// The guest may be hostile. The host checks every frame against the state of
// its stream and ends the whole session with ErrProtocol at the first that an
// honest guest would not have sent. What the guest can make the host hold is
// bounded: MaxStreams streams, a window each, and a short queue of replies.
package door

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// MaxStreams is how many streams the host serves at once. It resets those that
// are opened beyond that.
const MaxStreams = 256

// ErrProtocol is wrapped by the error that a session ends with when the peer
// broke the protocol.
var ErrProtocol = errors.New("protocol violation")

// violation says what the peer did wrong.
func violation(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
}

// fileConn turns a socket's descriptor into a connection and closes f, whether
// it succeeds or not.
func fileConn(f *os.File) (net.Conn, error) {
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("open the door's socket: %w", err)
	}
	return conn, nil
}

// address is the name of one end, for logs.
type address string

func (address) Network() string  { return "door" }
func (a address) String() string { return string(a) }
