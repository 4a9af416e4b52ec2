package gate

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// halfCloser is a connection that can end one direction alone.
type halfCloser interface{ CloseWrite() error }

// tunnel is one relayed pair of connections.
type tunnel struct {
	client   net.Conn
	upstream net.Conn
	idle     time.Duration
	idled    atomic.Bool
}

// close ends both directions. It may be called at any time, from anywhere.
func (t *tunnel) close() {
	t.client.Close()
	t.upstream.Close()
}

// run sends first to the upstream and then copies in both directions until both
// have ended, or one has failed, or nothing has passed for the idle limit. It
// closes both connections.
//
// Copying is left to io.Copy on the bare connections, which moves bytes in the
// kernel or in big pieces where they can. Progress inside such a copy cannot be
// watched; so each copy is broken off by a read deadline at every tick and taken
// up again, and what it copied in between is the progress. A tunnel so lives
// one or two ticks longer than the idle limit after its last byte, never less.
//
// A copy holds a pipe of the kernel's or a big buffer even when nothing comes,
// and most tunnels of an agent wait most of the time. So after a period in which
// nothing came, a direction waits with a few bytes instead (see moveFew).
func (t *tunnel) run(first []byte) (up, down int64, reason string) {
	patience := t.idle + t.tick()
	watch := time.AfterFunc(patience, func() { t.idled.Store(true); t.close() })
	defer watch.Stop()
	defer t.close()
	touch := func() { watch.Reset(patience) }
	if len(first) > 0 {
		if n, err := t.upstream.Write(first); err != nil {
			return int64(n), 0, "sending the first bytes: " + err.Error()
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		up = t.copyHalf(t.upstream, t.client, touch)
	}()
	down = t.copyHalf(t.client, t.upstream, touch)
	<-done
	if t.idled.Load() {
		reason = "closed: idle"
	}
	return up + int64(len(first)), down, reason
}

func (t *tunnel) tick() time.Duration { return t.idle / 8 }

// quietAfter is for how long a direction on which nothing comes keeps what it
// needs to copy fast.
const quietAfter = time.Second

// copyHalf copies one direction to its end and passes the end on.
func (t *tunnel) copyHalf(dst, src net.Conn, touch func()) (total int64) {
	for quiet := false; ; {
		period, move := min(t.tick(), quietAfter), io.Copy
		if quiet {
			period, move = t.tick(), moveFew
		}
		start := time.Now()
		src.SetReadDeadline(start.Add(period))
		n, err := move(dst, src)
		total += n
		if n > 0 {
			touch()
		}
		switch {
		// Some errors call themselves a timeout at once and for ever.
		case isTimeout(err) && time.Since(start) >= period:
			quiet = n == 0
		case quiet && n > 0 && err == nil:
			quiet = false
		default:
			if err != nil || !closeWrite(dst) {
				t.close()
			}
			return total
		}
	}
}

// moveFew waits for the first bytes and copies them. Like io.Copy it takes the end
// for no error; then it has copied nothing.
func moveFew(dst io.Writer, src io.Reader) (int64, error) {
	few := make([]byte, 512)
	n, err := src.Read(few)
	if n == 0 {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return 0, err
	}
	n, err = dst.Write(few[:n])
	return int64(n), err
}

func closeWrite(conn net.Conn) bool {
	half, ok := conn.(halfCloser)
	return ok && half.CloseWrite() == nil
}
