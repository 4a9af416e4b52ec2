package tape

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
)

// capture keeps a copy of a body that passes, up to a limit, and counts the
// rest. The transport may still be reading a request's body when the answer has
// ended, so it can be used from several goroutines.
type capture struct {
	limit        int
	length       int64 // as announced, -1 if it was not
	kind, coding string

	mu    sync.Mutex
	bytes []byte
	count int64
	ended bool
}

func newCapture(limit int, length int64, header http.Header) *capture {
	return &capture{limit: limit, length: length, kind: header.Get("Content-Type"), coding: strings.Join(header.Values("Content-Encoding"), ",")}
}

func (c *capture) add(p []byte, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count += int64(len(p))
	if c.count <= int64(c.limit) {
		c.bytes = append(c.bytes, p...)
	} else {
		c.bytes = nil
	}
	c.ended = c.ended || errors.Is(err, io.EOF)
}

// again forgets everything: the transport starts the request over.
func (c *capture) again() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes, c.count, c.ended = nil, 0, false
}

// size is how much has passed, and whether that is all.
func (c *capture) size() (count int64, whole bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count, c.ended || c.count == c.length
}

// masked is the body for the tape, or the reason why it cannot be on it.
func (c *capture) masked(mask func([]byte) []byte) body {
	c.mu.Lock()
	raw, count := c.bytes, c.count
	c.mu.Unlock()
	switch {
	case count > int64(c.limit):
		return body{Omitted: tooLarge}
	case count > 0 && c.coding != "" && c.coding != "identity":
		return body{Omitted: compressed}
	}
	return newBody(mask(raw), c.kind)
}

// requestBody copies what the transport sends.
type requestBody struct {
	io.ReadCloser
	capture *capture
}

func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.capture.add(p[:n], err)
	return n, err
}

// responseBody copies what the caller reads, and tells once how it ended: with
// the error of the last read, or nil when the caller closed it first.
type responseBody struct {
	io.ReadCloser
	capture *capture
	ended   func(error)
	once    sync.Once
}

func (b *responseBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.capture.add(p[:n], err)
	if err != nil {
		b.once.Do(func() { b.ended(err) })
	}
	return n, err
}

func (b *responseBody) Close() error {
	b.once.Do(func() { b.ended(nil) })
	return b.ReadCloser.Close()
}
