package gate

import (
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

// copyHalf copies one direction to its end and passes the end on.
func (t *tunnel) copyHalf(dst, src net.Conn, touch func()) (total int64) {
	tick := t.tick()
	for {
		start := time.Now()
		src.SetReadDeadline(start.Add(tick))
		n, err := io.Copy(dst, src)
		total += n
		if n > 0 {
			touch()
		}
		// Some errors call themselves a timeout at once and for ever.
		if isTimeout(err) && time.Since(start) >= tick {
			continue
		}
		if err != nil || !closeWrite(dst) {
			t.close()
		}
		return total
	}
}

func closeWrite(conn net.Conn) bool {
	half, ok := conn.(halfCloser)
	return ok && half.CloseWrite() == nil
}
