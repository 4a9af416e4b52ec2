package door

import "sync"

// chunk is a piece of a receive buffer: data[read:written] waits for the reader.
type chunk struct {
	read, written int
	data          []byte
}

func (c *chunk) full() bool { return c.written == len(c.data) }

// chunkPool recycles chunks within a session.
type chunkPool struct {
	size int
	pool sync.Pool
}

func (p *chunkPool) get() *chunk {
	if c, ok := p.pool.Get().(*chunk); ok {
		c.read, c.written = 0, 0
		return c
	}
	return &chunk{data: make([]byte, p.size)}
}

func (p *chunkPool) put(c *chunk) { p.pool.Put(c) }

// buffer is a queue of bytes between one filler and one reader. Its methods are
// called under the stream's lock, but the slices they lend are used outside it,
// so that a stream's bytes go from the socket into a chunk and from the chunk to
// the reader's destination, and neither end waits for the other. It holds
// memory only while it holds bytes.
type buffer struct {
	pool    *chunkPool
	chunks  []*chunk // oldest first; all but the last are full
	filling bool     // the end of the last chunk is lent to the filler
}

// space lends the filler room for at least one and at most n bytes, until filled.
func (b *buffer) space(n int) []byte {
	if len(b.chunks) == 0 || b.last().full() {
		b.chunks = append(b.chunks, b.pool.get())
	}
	b.filling = true
	c := b.last()
	return c.data[c.written:min(c.written+n, len(c.data))]
}

// filled takes back what space lent; n bytes of it are now data.
func (b *buffer) filled(n int) {
	b.filling = false
	if len(b.chunks) > 0 { // else dropped meanwhile
		b.last().written += n
	}
}

// next lends the reader the longest run of bytes there is, until drained.
func (b *buffer) next() []byte {
	if len(b.chunks) == 0 {
		return nil
	}
	c := b.chunks[0]
	return c.data[c.read:c.written]
}

// drained takes back what next lent; the first n bytes of it are done with.
func (b *buffer) drained(n int) {
	if len(b.chunks) == 0 { // dropped meanwhile
		return
	}
	c := b.chunks[0]
	c.read += n
	if c.read < c.written || b.filling && !c.full() {
		return
	}
	copy(b.chunks, b.chunks[1:])
	b.chunks[len(b.chunks)-1] = nil
	b.chunks = b.chunks[:len(b.chunks)-1]
	b.pool.put(c)
}

// drop forgets all bytes. The chunks do not go back to the pool: the filler or
// the reader may still hold a slice of one, and a pooled chunk would show one
// stream's bytes to another.
func (b *buffer) drop() { b.chunks = nil }

func (b *buffer) last() *chunk { return b.chunks[len(b.chunks)-1] }
