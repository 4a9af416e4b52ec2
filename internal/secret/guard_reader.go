package secret

import (
	"errors"
	"io"
)

// ErrSeen ends a text that holds a secret.
var ErrSeen = errors.New("the text holds a secret")

// readSize is how much is asked for at once.
const readSize = 32 << 10

// Reader passes a text on as it comes, apart from bytes at its end that may begin
// a secret, and fails with ErrSeen before any of the secret has passed.
//
// When the text ends, what may begin a secret did not, and passes. When it breaks
// off with an error, that is withheld: the text is not whole anyway.
type Reader struct {
	guard  *Guard
	from   io.Reader
	buffer []byte
	ready  []byte // part of the buffer: may pass
	held   []byte // and behind it: may not pass yet
	at     int32  // where the search stands, behind what is held
	err    error  // comes when what is ready has passed
}

// Reader returns one that reads from a text. It holds at most 32 KiB and the
// longest form of the secrets.
func (g *Guard) Reader(from io.Reader) *Reader { return &Reader{guard: g, from: from} }

// Begin waits until something can pass or the text is over, and keeps it for what
// reads next. It returns ErrSeen when a secret was seen before anything could
// pass, so that the caller can still answer in another way; every other error is
// left to come when it is read.
func (r *Reader) Begin() error {
	r.await()
	if len(r.ready) == 0 && errors.Is(r.err, ErrSeen) {
		return ErrSeen
	}
	return nil
}

// Next returns what can pass, as soon as there is something, or else the error
// that the text ended with, io.EOF if it is whole. The bytes are good until
// something else is read.
func (r *Reader) Next() ([]byte, error) {
	r.await()
	if len(r.ready) == 0 {
		return nil, r.err
	}
	next := r.ready
	r.ready = nil
	return next, nil
}

// Read is part of io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	r.await()
	if len(r.ready) == 0 {
		return 0, r.err
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// await reads until something can pass or nothing more comes.
func (r *Reader) await() {
	for len(r.ready) == 0 && r.err == nil {
		r.fill()
	}
}

// fill reads once, behind what was held back. It is called when all that was
// ready has passed. What is held is always shorter than the longest form.
func (r *Reader) fill() {
	if r.buffer == nil {
		r.buffer = make([]byte, readSize+r.guard.room())
	}
	before := copy(r.buffer, r.held)
	n, err := r.from.Read(r.buffer[before:])
	window := r.buffer[:before+n]
	open, seen := r.look(window[before:])
	switch {
	case seen:
		r.held, r.err = nil, ErrSeen
		return
	case errors.Is(err, io.EOF):
		open = 0
	}
	pass := len(window) - open
	r.ready, r.held, r.err = window[:pass], window[pass:], err
}

// look searches what came and tells whether a secret is complete, and if not, how
// many of the bytes so far may begin one.
func (r *Reader) look(came []byte) (open int, seen bool) {
	if r.guard.isBlind() {
		return 0, false
	}
	find := r.guard.finder
	r.at, _ = find.advance(r.at, came)
	return int(find.nodes[r.at].depth), find.ends(r.at)
}
