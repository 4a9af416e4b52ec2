package door

import (
	"fmt"
	"net"
	"syscall"
	"time"
)

// Close is part of net.Conn. What was written before is still delivered,
// followed by an end; what was received and not read is dropped. It does not
// block, and a second Close does nothing.
func (s *Stream) Close() error {
	s.close(false)
	return nil
}

// abort is Close without the end: the peer's reader gets an error in place of
// io.EOF and so cannot take what it has for the whole.
func (s *Stream) abort() { s.close(true) }

func (s *Stream) close(abort bool) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed, s.writeClosed = true, true
	s.endSent = s.endSent || abort
	s.in.drop()
	s.readDeadline.stop()
	s.writeDeadline.stop()
	s.sess.leave()
	s.settle()
	s.mu.Unlock()
	s.wakeReader()
	s.wakeWriter()
}

// CloseWrite tells the peer that no more data follows. Reading goes on.
func (s *Stream) CloseWrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	if s.remoteReset && !s.endSent {
		return syscall.EPIPE
	}
	s.writeClosed = true
	s.settle()
	ping(s.writable)
	return s.err
}

// settle queues the last frames of the stream once they are due: not while a
// data frame is on its way, for nothing may follow them. The caller holds s.mu.
func (s *Stream) settle() {
	if s.sending || s.err != nil || s.resetSent {
		return
	}
	if s.writeClosed && !s.endSent {
		s.endSent = true
		s.sess.out.enqueue(frame{s.id, kindEnd, 0})
	}
	if s.closed {
		s.resetSent = true
		if s.remoteReset {
			// Before the reset is queued: the peer that gets it may open
			// another stream in this one's place.
			s.sess.forget(s.id)
		}
		s.sess.out.enqueue(frame{s.id, kindReset, 0})
	}
}

// wakeReader makes a waiting reader look again.
func (s *Stream) wakeReader() { ping(s.readable) }

// wakeWriter makes a writer look again, wherever it waits.
func (s *Stream) wakeWriter() {
	ping(s.writable)
	s.mu.Lock()
	sending := s.sending
	s.mu.Unlock()
	if sending {
		s.sess.out.interrupt()
	}
}

// LocalAddr is part of net.Conn.
func (s *Stream) LocalAddr() net.Addr { return s.address(s.sess.role.name) }

// RemoteAddr is part of net.Conn.
func (s *Stream) RemoteAddr() net.Addr { return s.address(s.sess.role.peer) }

func (s *Stream) address(side string) address {
	return address(fmt.Sprintf("%s:%d", side, s.id))
}

// SetDeadline is part of net.Conn.
func (s *Stream) SetDeadline(t time.Time) error {
	if err := s.SetReadDeadline(t); err != nil {
		return err
	}
	return s.SetWriteDeadline(t)
}

// SetReadDeadline is part of net.Conn.
func (s *Stream) SetReadDeadline(t time.Time) error {
	return s.setDeadline(&s.readDeadline, t, s.wakeReader)
}

// SetWriteDeadline is part of net.Conn.
func (s *Stream) SetWriteDeadline(t time.Time) error {
	return s.setDeadline(&s.writeDeadline, t, s.wakeWriter)
}

func (s *Stream) setDeadline(d *deadline, t time.Time, wake func()) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return net.ErrClosed
	}
	d.set(t, wake)
	s.mu.Unlock()
	wake()
	return nil
}

// deadline is a moment after which a Read or a Write gives up, and the timer
// that tells it so. It belongs to the stream's lock.
type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) set(t time.Time, wake func()) {
	d.stop()
	if t.IsZero() {
		d.at = t
		return
	}
	// By the monotonic clock, which the timer goes by: when it fires, the
	// moment has passed.
	wait := time.Until(t)
	d.at = time.Now().Add(wait)
	if wait > 0 {
		d.timer = time.AfterFunc(wait, wake)
	}
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }
