package budget

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

// syncer brings a growing file to disk. Goroutines that wait for a sync under
// way share the next one.
//
// A failed sync is final. The kernel reports it once and may drop the data, so
// that the next sync would succeed without having written it; hence also only
// one sync at a time, or the report could go to someone else.
type syncer struct {
	sync    func(*os.File) error
	written atomic.Int64          // bytes of the file that this process has seen
	failure atomic.Pointer[error] // of a sync, for good

	mutex sync.Mutex
	done  int64 // bytes that are on disk
}

// upTo returns when the first end bytes of the file are on disk.
func (s *syncer) upTo(f *os.File, end int64) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if err := s.failed(); err != nil {
		return err
	}
	if s.done >= end {
		return nil
	}
	target := s.written.Load()
	if err := s.sync(f); err != nil {
		err = fmt.Errorf("bringing the ledger to disk: %w", err)
		s.failure.Store(&err)
		return err
	}
	s.done = target
	return nil
}

// failed returns the error of a sync that failed before. It does not wait for
// one that is under way.
func (s *syncer) failed() error {
	if failure := s.failure.Load(); failure != nil {
		return *failure
	}
	return nil
}
