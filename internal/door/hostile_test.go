package door

import (
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
)

// wire builds what a guest sends. A data frame brings its payload.
func wire(frames ...frame) []byte {
	var b []byte
	for _, f := range frames {
		b = f.append(b)
		if f.kind == kindData {
			b = append(b, make([]byte, f.value)...)
		}
	}
	return b
}

func repeat(n int, f frame) []frame {
	all := make([]frame, n)
	for i := range all {
		all[i] = f
	}
	return all
}

var hello = frame{0, kindHello, version}

// Every frame that an honest guest would not send ends the session with
// ErrProtocol.
func TestHostileFrames(t *testing.T) {
	open := frame{1, kindOpen, 0}
	full := append([]frame{hello, open}, repeat(4, frame{1, kindData, uploadWindow / 4})...)
	for name, frames := range map[string][]frame{
		"open before hello":           {open},
		"second hello":                {hello, hello},
		"hello of another version":    {{0, kindHello, version + 1}},
		"hello on a stream":           {{1, kindHello, version}},
		"kind zero":                   {hello, {1, 0, 0}},
		"unknown kind":                {hello, {1, kindReset + 1, 0}},
		"highest kind":                {hello, {1, 255, 0}},
		"open of stream zero":         {hello, {0, kindOpen, 0}},
		"open with a value":           {hello, {1, kindOpen, 1}},
		"open of an existing id":      {hello, open, open},
		"data on stream zero":         {hello, {0, kindData, 1}},
		"data without a stream":       {hello, {1, kindData, 1}},
		"data of no length":           {hello, open, {1, kindData, 0}},
		"data too long":               {hello, open, {1, kindData, maxPayload + 1}},
		"data of highest length":      {hello, open, {1, kindData, 1<<24 - 1}},
		"data beyond the window":      append(full, frame{1, kindData, 1}),
		"data after end":              {hello, open, {1, kindEnd, 0}, {1, kindData, 1}},
		"data after reset":            {hello, open, {1, kindReset, 0}, {1, kindData, 1}},
		"window without a stream":     {hello, {1, kindWindow, 1}},
		"window of nothing":           {hello, open, {1, kindWindow, 0}},
		"window beyond what was sent": {hello, open, {1, kindWindow, 1}},
		"window after reset":          {hello, open, {1, kindReset, 0}, {1, kindWindow, 1}},
		"end without a stream":        {hello, {1, kindEnd, 0}},
		"end with a value":            {hello, open, {1, kindEnd, 1}},
		"second end":                  {hello, open, {1, kindEnd, 0}, {1, kindEnd, 0}},
		"end after reset":             {hello, open, {1, kindReset, 0}, {1, kindEnd, 0}},
		"reset without a stream":      {hello, {1, kindReset, 0}},
		"second reset":                {hello, open, {1, kindReset, 0}, {1, kindReset, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			h, g := newSocketPair(t)
			l := &Listener{newSession(h, hostRole)}
			defer l.Close()
			go g.Write(wire(frames...))
			within(t, "end of the session", func() { <-l.Done() })
			if _, err := l.Accept(); !errors.Is(err, ErrProtocol) {
				t.Errorf("Accept: %v, want a protocol error", err)
			}
		})
	}
}

// The guest trusts the host more than the other way round, but does not let it
// open streams either.
func TestHostMayNotOpen(t *testing.T) {
	for _, f := range []frame{hello, {1, kindOpen, 0}} {
		h, g := newSocketPair(t)
		guest := newSession(g, guestRole)
		h.Write(wire(f))
		within(t, "end of the session", func() { <-guest.over })
		if !errors.Is(guest.cause(), ErrProtocol) {
			t.Errorf("%v from the host: %v", f.kind, guest.cause())
		}
	}
}

// A guest that goes away is not one that broke the protocol.
func TestGuestGoesAway(t *testing.T) {
	for name, tt := range map[string]struct {
		sent []byte
		want error
	}{
		"before hello":     {nil, io.EOF},
		"between frames":   {wire(hello), io.EOF},
		"within a header":  {wire(hello)[:5], io.ErrUnexpectedEOF},
		"within a payload": {wire(hello, frame{1, kindOpen, 0}, frame{1, kindData, 9})[:20], io.ErrUnexpectedEOF},
		"before a payload": {wire(hello, frame{1, kindOpen, 0}, frame{1, kindData, 9})[:24], io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			h, g := newSocketPair(t)
			l := &Listener{newSession(h, hostRole)}
			g.Write(tt.sent)
			g.Close()
			within(t, "end of the session", func() { <-l.Done() })
			if _, err := l.Accept(); !errors.Is(err, tt.want) || errors.Is(err, ErrProtocol) {
				t.Errorf("Accept: %v, want %v", err, tt.want)
			}
		})
	}
}

// The host serves MaxStreams, resets what is opened beyond, and ends the session
// of a guest that goes on nevertheless.
func TestStreamCap(t *testing.T) {
	h, g := newSocketPair(t)
	l := &Listener{newSession(h, hostRole)}
	defer l.Close()
	var opens []frame
	for id := range uint32(maxIDs) {
		opens = append(opens, frame{id + 1, kindOpen, 0})
	}
	go g.Write(wire(append([]frame{hello}, opens...)...))

	within(t, "resets of the streams beyond", func() {
		header := make([]byte, headerSize)
		for id := uint32(MaxStreams + 1); id <= maxIDs; id++ {
			if _, err := io.ReadFull(g, header); err != nil || parse(header) != (frame{id, kindReset, 0}) {
				t.Errorf("got %+v, error %v, want a reset of stream %d", parse(header), err, id)
				return
			}
		}
	})
	within(t, "accept of those within", func() {
		for range MaxStreams {
			if _, err := l.Accept(); err != nil {
				t.Error(err)
				return
			}
		}
	})
	g.Write(wire(frame{maxIDs + 1, kindOpen, 0}))
	within(t, "end of the session", func() { <-l.Done() })
	if _, err := l.Accept(); !errors.Is(err, ErrProtocol) {
		t.Errorf("Accept: %v, want a protocol error", err)
	}
}

// A guest that closes its streams at once does not get around the cap: a place
// is taken until the host's side has closed, too.
func TestResetDoesNotFreeAPlace(t *testing.T) {
	h, g := newSocketPair(t)
	l := &Listener{newSession(h, hostRole)}
	defer l.Close()
	openAndReset := func(id uint32) []frame { return []frame{{id, kindOpen, 0}, {id, kindReset, 0}} }
	frames := []frame{hello}
	for id := uint32(1); id <= 2*MaxStreams; id++ {
		frames = append(frames, openAndReset(id)...)
	}
	g.Write(wire(frames...))
	conns := make([]net.Conn, MaxStreams)
	for i := range conns {
		var err error
		if conns[i], err = l.Accept(); err != nil {
			t.Fatal(err)
		}
	}
	within(t, "refusal of as many again", func() {
		for header := make([]byte, headerSize); ; {
			if _, err := io.ReadFull(g, header); err != nil {
				t.Error(err)
				return
			}
			if parse(header).stream == 2*MaxStreams {
				return
			}
		}
	})
	if waiting := len(l.sess.incoming); waiting > 0 {
		t.Fatalf("%d streams beyond the cap", waiting)
	}
	conns[0].Close()
	g.Write(wire(openAndReset(2*MaxStreams + 1)...))
	within(t, "accept after a close", func() {
		if _, err := l.Accept(); err != nil {
			t.Error(err)
		}
	})
}

// A guest that makes the host answer and never reads the answers is thrown out
// before they pile up.
func TestGuestThatNeverReadsReplies(t *testing.T) {
	h, g := newSocketPair(t)
	l := &Listener{newSession(h, hostRole)}
	defer l.Close()
	g.Write(wire(hello))
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	within(t, "end of the session", func() {
		var err error
		for id := uint32(1); err == nil; id++ {
			_, err = g.Write(wire(frame{id, kindOpen, 0}, frame{id, kindReset, 0}))
		}
		<-l.Done()
	})
	if _, err := l.Accept(); !errors.Is(err, ErrProtocol) {
		t.Errorf("Accept: %v, want a protocol error", err)
	}
}

// Bytes that nobody reads are held up to the window of each stream, and
// streams that are closed hold none.
func TestMemoryIsBounded(t *testing.T) {
	h, g := newSocketPair(t)
	l := &Listener{newSession(h, hostRole)}
	defer l.Close()
	const streams = 16
	frames := []frame{hello}
	for id := range uint32(streams) {
		frames = append(frames, frame{id + 1, kindOpen, 0})
		frames = append(frames, repeat(uploadWindow/(64<<10), frame{id + 1, kindData, 64 << 10})...)
	}
	frames = append(frames, frame{streams + 1, kindOpen, 0})
	before := heap()
	go g.Write(wire(frames...))
	var conns []net.Conn
	within(t, "arrival of all data", func() {
		for range streams + 1 {
			conn, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			conns = append(conns, conn)
		}
	})
	if used := heap() - before; used > streams*(uploadWindow+2*hostRole.chunkSize)+(8<<20) {
		t.Errorf("%d full streams hold %d MiB", streams, used>>20)
	}
	for _, conn := range conns {
		conn.Close()
	}
	conns = nil
	if used := heap() - before; used > 8<<20 {
		t.Errorf("closed streams hold %d MiB", used>>20)
	}
}

func heap() int {
	runtime.GC()
	runtime.GC() // the second empties pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
