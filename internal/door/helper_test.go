package door

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// patience is how long a test waits for what should happen at once.
const patience = 20 * time.Second

// within fails the test if f takes too long.
func within(t testing.TB, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("%s: still waiting after %v", what, patience)
	}
}

// newSocketPair returns the two ends of a real socket pair.
func newSocketPair(t testing.TB) (host, guest net.Conn) {
	t.Helper()
	h, g, err := Pair()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if host, err = fileConn(h); err != nil {
		t.Fatal(err)
	}
	if guest, err = fileConn(g); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Close(); guest.Close() })
	return host, guest
}

// newSessions returns a listener and a guest session that has said hello.
func newSessions(t testing.TB) (*Listener, *session) {
	t.Helper()
	h, g := newSocketPair(t)
	l := &Listener{newSession(h, hostRole)}
	guest := newSession(g, guestRole)
	guest.out.enqueue(frame{0, kindHello, version})
	t.Cleanup(func() { l.Close(); <-guest.over })
	return l, guest
}

// newStreams opens a stream and accepts it.
func newStreams(t testing.TB, l *Listener, guest *session) (hostEnd, guestEnd *Stream) {
	t.Helper()
	guestEnd, err := guest.open()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return conn.(*Stream), guestEnd
}

// newEnds returns what a door is made of: the host's listener, the guest's
// descriptor, and the guest's own listener on loopback.
func newEnds(t testing.TB) (l *Listener, guest *os.File, inner net.Listener) {
	t.Helper()
	h, guest, err := Pair()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	l, err = NewListener(h)
	if err != nil {
		t.Fatal(err)
	}
	inner, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l, guest, inner
}

// newForward runs Forward behind a loopback listener, whose address it returns.
func newForward(t testing.TB) (*Listener, string) {
	t.Helper()
	l, g, inner := newEnds(t)
	ended := make(chan error, 1)
	go func() { ended <- Forward(context.Background(), g, inner) }()
	t.Cleanup(func() {
		l.Close()
		if err := <-ended; err != nil {
			t.Errorf("Forward after the host closed: %v", err)
		}
	})
	return l, inner.Addr().String()
}
