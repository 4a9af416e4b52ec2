package gate

import (
	"context"
	"sync"
)

// registry holds the clients that are being served, so that Shutdown can wait
// for them and end them. net/http does so too, but forgets those whose
// connection became a tunnel.
type registry struct {
	mu      sync.Mutex
	clients map[*clientConn]struct{}
	closing bool
	count   sync.WaitGroup
}

// add registers c, unless the proxy is closing.
func (s *registry) add(c *clientConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	if s.clients == nil {
		s.clients = map[*clientConn]struct{}{}
	}
	s.clients[c] = struct{}{}
	s.count.Add(1)
	return true
}

func (s *registry) remove(c *clientConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
	s.count.Done()
}

// refuseNew makes add refuse from now on.
func (s *registry) refuseNew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
}

// wait returns when no client is served or ctx has ended.
func (s *registry) wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		s.count.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// closeAll closes every client's connection, which ends its tunnel or request,
// and waits until all have ended.
func (s *registry) closeAll() {
	s.mu.Lock()
	for c := range s.clients {
		c.Close()
	}
	s.mu.Unlock()
	s.count.Wait()
}
