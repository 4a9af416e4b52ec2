package gate

import "sync"

// bufferSize is what a response is passed on in. The door to a sandbox is fast
// with large pieces and slow with small ones: each costs a system call inside.
const bufferSize = 256 << 10

// buffers implements httputil.BufferPool.
type buffers struct{ pool sync.Pool }

// Get is part of the httputil.BufferPool interface.
func (b *buffers) Get() []byte {
	if buffer, ok := b.pool.Get().(*[]byte); ok {
		return *buffer
	}
	return make([]byte, bufferSize)
}

// Put is part of the httputil.BufferPool interface.
func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }
