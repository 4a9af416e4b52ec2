package door

import "bufio"

// This file is what the receive loop does to a stream. None of it waits for
// the stream's reader or writer.

// receiveData reads the n bytes of a data frame into the stream's buffer.
func (s *Stream) receiveData(r *bufio.Reader, n int) error {
	if err := s.spendCredit(n); err != nil {
		return err
	}
	for n > 0 {
		dst := s.space(n)
		if dst == nil { // closed: nobody will read it
			_, err := r.Discard(n)
			return unexpected(err)
		}
		m, err := r.Read(dst)
		s.filled(m)
		if err != nil {
			return unexpected(err)
		}
		n -= m
	}
	return nil
}

func (s *Stream) spendCredit(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.remoteEnd || s.remoteReset {
		return violation("data after the end of stream %d", s.id)
	}
	if n > s.receiveCredit {
		return violation("%d bytes beyond the window of stream %d", n-s.receiveCredit, s.id)
	}
	s.receiveCredit -= n
	return nil
}

func (s *Stream) space(n int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	return s.in.space(n)
}

func (s *Stream) filled(n int) {
	s.mu.Lock()
	s.in.filled(n)
	s.mu.Unlock()
	s.wakeReader()
}

// receiveWindow adds credit. More than a whole window was never taken.
func (s *Stream) receiveWindow(n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.remoteReset {
		return violation("window after the reset of stream %d", s.id)
	}
	if n > s.sess.role.sendWindow-s.sendCredit {
		return violation("window of %d on stream %d is more than was sent", n, s.id)
	}
	s.sendCredit += n
	ping(s.writable)
	return nil
}

func (s *Stream) receiveEnd() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.remoteEnd || s.remoteReset {
		return violation("second end of stream %d", s.id)
	}
	s.remoteEnd = true
	ping(s.readable)
	return nil
}

func (s *Stream) receiveReset() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.remoteReset {
		return violation("second reset of stream %d", s.id)
	}
	s.remoteReset = true
	close(s.gone)
	if s.resetSent {
		s.sess.forget(s.id)
	}
	ping(s.readable)
	ping(s.writable)
	return nil
}

// sessionEnded fails the stream. What it has received can still be read.
func (s *Stream) sessionEnded(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = cause
	if !s.remoteReset {
		close(s.gone)
	}
	ping(s.readable)
	ping(s.writable)
}
