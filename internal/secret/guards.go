package secret

import (
	"slices"
	"sync"
)

// mostGuards is more than a program has credentials in use at a time.
const mostGuards = 8

// Guards keeps the Guards that were made last: making one takes longer than a
// short response takes to look through, and tokens rotate. It may be used by
// several goroutines; the zero Guards is ready for use.
type Guards struct {
	mu    sync.Mutex
	known []knownGuard // newest last
}

type knownGuard struct {
	secret Secret
	guard  *Guard
}

// For returns a Guard against a secret. For none it returns one that sees nothing.
func (g *Guards) For(s Secret) *Guard {
	if s.IsZero() {
		return nil
	}
	value := s.Reveal()
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.IndexFunc(g.known, func(have knownGuard) bool { return have.secret.Equal(value) }); i >= 0 {
		return g.known[i].guard
	}
	if len(g.known) >= mostGuards {
		g.known = slices.Delete(g.known, 0, 1)
	}
	made := NewGuard(s)
	g.known = append(g.known, knownGuard{s, made})
	return made
}
