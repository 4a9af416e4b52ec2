package door

import (
	"bytes"
	"io"
	"net"
	"testing"
)

// FuzzHost feeds the host arbitrary bytes while a server echoes on whatever
// streams they open. The session must end when the bytes do, with every stream,
// and never know more streams or hold more bytes than it allows.
func FuzzHost(f *testing.F) {
	open := frame{1, kindOpen, 0}
	f.Add([]byte{})
	f.Add(wire(hello))
	f.Add(wire(hello, open, frame{1, kindData, 5}, frame{1, kindEnd, 0}, frame{1, kindReset, 0}))
	f.Add(wire(hello, open, frame{2, kindOpen, 0}, frame{2, kindData, 3}, frame{1, kindData, 700}, frame{1, kindReset, 0}))
	f.Add(wire(hello, open, frame{1, kindData, 9}, frame{1, kindWindow, 9}, frame{1, kindEnd, 0}))
	f.Add(wire(hello, open, open))
	f.Add(frame{1, kindData, 1<<24 - 1}.append(wire(hello, open)))
	f.Fuzz(func(t *testing.T, input []byte) {
		h, g := newSocketPair(t)
		l := &Listener{newSession(h, hostRole)}
		defer l.Close()
		go echoAll(t, l)
		go io.Copy(io.Discard, g)
		g.Write(input)
		g.(*net.UnixConn).CloseWrite()
		within(t, "end of the session", func() { <-l.Done() })
	})
}

func echoAll(t *testing.T, l *Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		checkBounds(t, l.sess)
		go func() {
			defer conn.Close()
			io.Copy(conn, conn)
		}()
	}
}

// checkBounds fails the test if the session holds more than it may.
func checkBounds(t *testing.T, s *session) {
	s.mu.Lock()
	var streams []*Stream
	for _, stream := range s.streams {
		streams = append(streams, stream)
	}
	known, live := len(s.streams), s.live
	s.mu.Unlock()
	if known > maxIDs || live > MaxStreams+1 {
		t.Errorf("%d streams, %d live", known, live)
	}
	for _, stream := range streams {
		stream.mu.Lock()
		if held := len(stream.in.chunks) * hostRole.chunkSize; held > uploadWindow+2*hostRole.chunkSize {
			t.Errorf("stream %d holds %d bytes", stream.id, held)
		}
		stream.mu.Unlock()
	}
}

// FuzzRoundTrip sends bytes in pieces of arbitrary sizes through a stream and
// back, read in pieces of another size.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("hello"), uint32(1), uint32(2), uint8(1))
	f.Add([]byte("0123456789"), uint32(maxPayload), uint32(1<<20), uint8(200))
	f.Add(bytes.Repeat([]byte("abc"), 1000), uint32(777), uint32(13), uint8(255))
	f.Fuzz(func(t *testing.T, data []byte, writeSize, readSize uint32, times uint8) {
		data = bytes.Repeat(data, int(times))
		if len(data) > 3*uploadWindow {
			data = data[:3*uploadWindow]
		}
		least := len(data)/500 + 1 // or it takes long
		writePiece := max(int(writeSize%(2*maxPayload)), least)
		readPiece := max(int(readSize%(2*maxPayload)), least)
		l, guest := newSessions(t)
		go echoAll(t, l)
		stream, err := guest.open()
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Close()
		go func() {
			for rest := data; len(rest) > 0; rest = rest[min(writePiece, len(rest)):] {
				stream.Write(rest[:min(writePiece, len(rest))])
			}
			stream.CloseWrite()
		}()
		var got bytes.Buffer
		within(t, "echo", func() {
			_, err = io.CopyBuffer(&got, struct{ io.Reader }{stream}, make([]byte, readPiece))
		})
		if err != nil || !bytes.Equal(got.Bytes(), data) {
			t.Errorf("sent %d bytes, got %d back, error %v", len(data), got.Len(), err)
		}
	})
}

// FuzzBuffer checks the receive buffer against a plain one. Each step fills,
// drains, or drains while a fill is under way.
func FuzzBuffer(f *testing.F) {
	const chunkSize = 2000
	f.Add([]byte{0, 200, 1, 100, 2, 50, 1, 255})
	f.Add([]byte{0, 255, 0, 255, 0, 255, 2, 255, 1, 255, 2, 255})
	pattern := make([]byte, chunkSize+251)
	for i := range pattern {
		pattern[i] = byte(i % 251) // a shifted copy differs everywhere
	}
	f.Fuzz(func(t *testing.T, steps []byte) {
		b := buffer{pool: &chunkPool{size: chunkSize}}
		var model []byte
		drain := func(n int) {
			data := b.next()
			n = min(n, len(data))
			if !bytes.Equal(data[:n], model[:n]) {
				t.Fatal("bytes differ")
			}
			b.drained(n)
			model = model[n:]
		}
		for i := 0; i+1 < len(steps) && len(model) < 4*chunkSize; i += 2 {
			n := int(steps[i+1]) * chunkSize / 200
			if steps[i]%3 == 1 {
				drain(n)
				continue
			}
			dst := b.space(n + 1)
			if steps[i]%3 == 2 {
				drain(n)
			}
			copy(dst, pattern[i%251:])
			b.filled(len(dst))
			model = append(model, dst...)
		}
		for len(model) > 0 {
			drain(len(model))
		}
		if len(b.chunks) > 0 {
			t.Errorf("empty buffer holds %d chunks", len(b.chunks))
		}
	})
}
