package door

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// lingerTime is how long a client that got its whole answer may go on sending
// before its connection is closed.
const lingerTime = 2 * time.Second

// Forward is the guest's end of the door. It greets the host and sends every
// connection that l accepts through f, until the session ends; without l it
// greets and holds the session. It takes over f and l.
//
// It returns nil when the host ended the session, ctx.Err() when ctx did, and
// otherwise the reason.
func Forward(ctx context.Context, f *os.File, l net.Listener) error {
	if l != nil {
		defer l.Close()
	}
	conn, err := fileConn(f)
	if err != nil {
		return err
	}
	guest := Join(conn)
	sess := guest.sess
	stop := context.AfterFunc(ctx, func() { sess.fail(ctx.Err()) })
	defer stop()

	var all sync.WaitGroup
	if l != nil {
		all.Go(func() { sess.fail(acceptAll(guest, l, &all)) })
	}
	<-sess.over
	if l != nil {
		l.Close()
	}
	all.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return guest.Err()
}

// acceptAll forwards what l accepts until the session is over or l is closed.
func acceptAll(guest *Guest, l net.Listener, all *sync.WaitGroup) error {
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			all.Go(func() { guest.Carry(conn, nil) })
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept connections to forward: %w", err)
		default:
			// Out of descriptors, say: connections that end free some.
			select {
			case <-time.After(50 * time.Millisecond):
			case <-guest.Done():
			}
		}
	}
}

// Carry takes one connection to its end, on a stream that begins with greeting.
func (g *Guest) Carry(conn net.Conn, greeting []byte) {
	defer conn.Close()
	stream, err := g.Open()
	if err != nil {
		sever(conn)
		return
	}
	defer stream.Close()
	if _, err := stream.Write(greeting); err != nil {
		sever(conn)
		return
	}

	uploaded := make(chan struct{})
	go func() {
		defer close(uploaded)
		upload(stream, conn)
	}()
	download(stream, conn)
	select {
	case <-uploaded:
	case <-stream.gone: // nobody reads what the client may still send
		stream.Close()
		conn.SetReadDeadline(time.Now().Add(lingerTime))
		<-uploaded
	}
}

// upload copies what the client sends until it ends. A client that fails takes
// the stream with it. When the host no longer reads, what the client still sends
// is thrown away: to close a socket that has unread bytes cuts off the answer.
func upload(stream *Stream, conn net.Conn) {
	_, err := stream.ReadFrom(conn)
	switch {
	case err == nil:
		_ = stream.CloseWrite()
	case isClosed(stream.gone):
		_, _ = io.Copy(io.Discard, conn)
	default:
		stream.abort()
		sever(conn)
	}
}

// download copies what the host sends until it ends.
func download(stream *Stream, conn net.Conn) {
	if _, err := stream.WriteTo(conn); err != nil {
		stream.abort()
		sever(conn)
		return
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// sever closes conn so that its client sees an error, not an orderly end.
func sever(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
