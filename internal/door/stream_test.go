package door

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"
)

// Many streams at once, of sizes from nothing to several windows, arrive whole
// in both directions.
func TestManyStreams(t *testing.T) {
	l, guest := newSessions(t)
	go func() { // the host sends back what it gets
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				io.Copy(conn, conn)
			}()
		}
	}()
	var all sync.WaitGroup
	for i := range 100 {
		random := rand.New(rand.NewPCG(uint64(i), 1))
		size := random.IntN(1 << (4 + i%19))
		all.Go(func() { echo(t, guest, random, size) })
	}
	within(t, "echo of all streams", all.Wait)
}

func echo(t *testing.T, guest *session, random *rand.Rand, size int) {
	stream, err := guest.open()
	if err != nil {
		t.Error(err)
		return
	}
	defer stream.Close()
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(random.Uint32())
	}
	go func() {
		for rest := data; len(rest) > 0; {
			n := min(1+random.IntN(100_000), len(rest))
			if _, err := stream.Write(rest[:n]); err != nil {
				t.Error(err)
			}
			rest = rest[n:]
		}
		stream.CloseWrite()
	}()
	hash := sha256.New()
	n, err := io.Copy(hash, stream)
	if want := sha256.Sum256(data); err != nil || !bytes.Equal(hash.Sum(nil), want[:]) {
		t.Errorf("sent %d bytes, got %d others back, error %v", size, n, err)
	}
}

// A stream that nobody reads stops when its window is full. The others go on,
// and it loses nothing.
func TestSlowReaderHoldsUpItselfAlone(t *testing.T) {
	l, guest := newSessions(t)
	slowHost, slowGuest := newStreams(t, l, guest)
	full := make(chan struct{})
	sent := make(chan error, 1)
	go func() {
		if _, err := slowHost.Write(make([]byte, downloadWindow)); err != nil {
			t.Error(err)
		}
		close(full)
		_, err := slowHost.Write([]byte("more"))
		slowHost.Close()
		sent <- err
	}()
	within(t, "fill the window", func() { <-full })

	for range 3 {
		fastHost, fastGuest := newStreams(t, l, guest)
		go func() {
			fastHost.Write(make([]byte, 2*downloadWindow))
			fastHost.Close()
		}()
		within(t, "read past the slow stream", func() {
			if n, err := io.Copy(io.Discard, fastGuest); n != 2*downloadWindow || err != nil {
				t.Errorf("got %d bytes, error %v", n, err)
			}
		})
		fastGuest.Close()
	}

	select {
	case err := <-sent:
		t.Fatalf("write beyond the window ended without a reader: %v", err)
	default:
	}
	within(t, "read the slow stream", func() {
		if n, err := io.Copy(io.Discard, slowGuest); n != downloadWindow+4 || err != nil {
			t.Errorf("got %d bytes, error %v", n, err)
		}
	})
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// Either side may end its direction and go on with the other.
func TestHalfClose(t *testing.T) {
	l, guest := newSessions(t)
	for _, hostFirst := range []bool{true, false} {
		first, second := newStreams(t, l, guest)
		if !hostFirst {
			first, second = second, first
		}
		first.Write([]byte("question"))
		if err := first.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if _, err := first.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("write after CloseWrite: %v", err)
		}
		if got, err := io.ReadAll(second); string(got) != "question" || err != nil {
			t.Fatalf("got %q, error %v", got, err)
		}
		second.Write([]byte("answer"))
		second.Close()
		if got, err := io.ReadAll(first); string(got) != "answer" || err != nil {
			t.Fatalf("got %q, error %v", got, err)
		}
		first.Close()
	}
}

// Close delivers what was written before it; the other side can then write no
// more. An abort shows as an error, never as an orderly end.
func TestCloseAndAbort(t *testing.T) {
	l, guest := newSessions(t)
	for _, tt := range []struct {
		name  string
		leave func(*Stream)
		want  error
	}{
		{"close", func(s *Stream) { s.Close() }, nil},
		{"abort", func(s *Stream) { s.abort() }, syscall.ECONNRESET},
	} {
		t.Run(tt.name, func(t *testing.T) {
			left, stays := newStreams(t, l, guest)
			left.Write([]byte("last words"))
			tt.leave(left)
			if got, err := io.ReadAll(stays); string(got) != "last words" || !errors.Is(err, tt.want) {
				t.Errorf("got %q, error %v, want %v", got, err, tt.want)
			}
			within(t, "learn that nobody reads", func() { <-stays.gone })
			if _, err := stays.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
				t.Errorf("write to a closed stream: %v", err)
			}
			if _, err := left.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
				t.Errorf("read of a closed stream: %v", err)
			}
			stays.Close()
		})
	}
}

// An end that is asked for while a data frame waits for the socket follows it:
// before it, the host would take the data for a violation.
func TestCloseWriteDuringWrite(t *testing.T) {
	l, guest := newSessions(t)
	host, inner := newStreams(t, l, guest)
	guest.out.token <- struct{}{} // the socket is busy
	written := make(chan error, 1)
	go func() { _, err := inner.Write([]byte("in time")); written <- err }()
	within(t, "begin of Write", func() {
		for sending := false; !sending; runtime.Gosched() {
			inner.mu.Lock()
			sending = inner.sending
			inner.mu.Unlock()
		}
	})
	if err := inner.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	guest.out.release()
	if err := <-written; err != nil {
		t.Error(err)
	}
	within(t, "end of the stream", func() {
		if got, err := io.ReadAll(host); string(got) != "in time" || err != nil {
			t.Errorf("got %q, error %v", got, err)
		}
	})
}

// When all streams are closed on both sides neither side remembers any.
func TestClosedStreamsAreForgotten(t *testing.T) {
	l, guest := newSessions(t)
	for range 5 * maxIDs { // a leak would reach the cap
		host, inner := newStreams(t, l, guest)
		inner.Write([]byte("unread"))
		host.Close()
		within(t, "learn of the close", func() { <-inner.gone })
		inner.Close()
	}
	last, inner := newStreams(t, l, guest)
	defer last.Close()
	defer inner.Close()
	for name, s := range map[string]*session{"host": l.sess, "guest": guest} {
		s.mu.Lock()
		if s.live != 1 || len(s.streams) > 2 {
			t.Errorf("%s: %d live of %d streams", name, s.live, len(s.streams))
		}
		s.mu.Unlock()
	}
}

// The error of a dead session wraps io.EOF. To copy from one is no success.
func TestReadFromTakesNoWrappedEndForAnEnd(t *testing.T) {
	l, guest := newSessions(t)
	stream, _ := newStreams(t, l, guest)
	dead := iotest.ErrReader(fmt.Errorf("the door is shut: %w", io.EOF))
	if _, err := stream.ReadFrom(dead); err == nil {
		t.Error("copied to the end")
	}
}

// The end of a session fails what waits on every stream, on both sides.
func TestSessionDeathFailsStreams(t *testing.T) {
	for name, kill := range map[string]func(*Listener, *session){
		"host closes": func(l *Listener, _ *session) { l.Close() },
		"guest dies":  func(_ *Listener, guest *session) { guest.conn.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			l, guest := newSessions(t)
			failures := make(chan error)
			waiting := 0
			for range 10 {
				host, inner := newStreams(t, l, guest)
				for _, s := range []*Stream{host, inner} {
					go func() { _, err := io.Copy(io.Discard, s); failures <- err }()
				}
				stuck, _ := newStreams(t, l, guest)
				go func() { _, err := stuck.Write(make([]byte, 2*downloadWindow)); failures <- err }()
				waiting += 3
			}
			kill(l, guest)
			within(t, "all streams fail", func() {
				for range waiting {
					if err := <-failures; err == nil {
						t.Error("a stream ended without an error")
					}
				}
			})
			if _, err := guest.open(); err == nil {
				t.Error("opened a stream on a dead session")
			}
			if _, err := l.Accept(); err == nil {
				t.Error("accepted a stream on a dead session")
			}
		})
	}
}

// A peer that reads nothing at all cannot keep a Write past its deadline or past
// Close, and once it reads it finds every frame whole.
func TestPeerThatDoesNotRead(t *testing.T) {
	h, g := newSocketPair(t)
	l := &Listener{newSession(h, hostRole)}
	defer l.Close()
	wire := frame{0, kindHello, version}.append(nil)
	const streams = 8 // together more than any socket buffer
	for id := range uint32(streams) {
		wire = frame{id + 1, kindOpen, 0}.append(wire)
	}
	g.Write(wire)

	var all sync.WaitGroup
	for i := range streams {
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			conn.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
		} else {
			time.AfterFunc(50*time.Millisecond, func() { conn.Close() })
		}
		all.Go(func() {
			_, err := conn.Write(make([]byte, 2*downloadWindow))
			if !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, net.ErrClosed) {
				t.Errorf("write to a peer that does not read: %v", err)
			}
			conn.Close()
		})
	}
	within(t, "writes give up", all.Wait)

	within(t, "read all frames", func() {
		resets := 0
		for header := make([]byte, headerSize); resets < streams; {
			if _, err := io.ReadFull(g, header); err != nil {
				t.Error(err)
				return
			}
			f := parse(header)
			if err := f.check(); err != nil {
				t.Error(err)
				return
			}
			if f.kind == kindData {
				io.CopyN(io.Discard, g, int64(f.value))
			}
			if f.kind == kindReset {
				resets++
			}
		}
	})
}
