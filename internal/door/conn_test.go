package door

import (
	"net"
	"testing"

	"golang.org/x/net/nettest"
)

// A stream is a net.Conn in every respect that the standard suite checks, from
// either side.
func TestStreamIsNetConn(t *testing.T) {
	for name, swap := range map[string]bool{"host first": false, "guest first": true} {
		t.Run(name, func(t *testing.T) {
			nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
				l, guest := newSessions(t)
				c1, c2 = newStreams(t, l, guest)
				if swap {
					c1, c2 = c2, c1
				}
				return c1, c2, func() { c1.Close(); c2.Close(); l.Close() }, nil
			})
		})
	}
}
