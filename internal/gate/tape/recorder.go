package tape

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
)

// A Recorder passes requests on to another RoundTripper and writes each exchange
// to a tape when it has ended. It never holds a call up and never fails one:
// what goes wrong with the tape is in Err.
type Recorder struct {
	// Credential is the kind that is noted with each exchange. It is set before
	// the first one, or not at all.
	Credential string

	next  http.RoundTripper
	mask  func([]byte) []byte
	limit int // of one body

	writing sync.WaitGroup

	mu      sync.Mutex
	w       io.Writer
	size    int64
	err     error
	closed  bool
	seq     int
	running []int
}

// NewRecorder writes to w. mask takes the secrets out of whole bodies and other
// texts before they are written and must be safe for concurrent use; with nil
// there is nothing secret.
func NewRecorder(w io.Writer, next http.RoundTripper, mask func([]byte) []byte) *Recorder {
	if mask == nil {
		mask = func(raw []byte) []byte { return raw }
	}
	return &Recorder{next: next, mask: mask, limit: maxBody, w: w}
}

// Create is NewRecorder with a new file, which only the user can read. It does
// not write to a file that exists: one tape is one unbroken recording.
func Create(path string, next http.RoundTripper, mask func([]byte) []byte) (*Recorder, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("creating the tape: %w", err)
	}
	return NewRecorder(file, next, mask), nil
}

// Err is the first thing that went wrong with the tape. Nothing was recorded
// after it.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Close waits until the exchanges that have ended are written, and closes the
// file of Create. It returns Err. What is still open is passed on, not recorded.
func (r *Recorder) Close() error {
	r.mu.Lock()
	closed := r.closed
	r.closed = true
	r.mu.Unlock()
	r.writing.Wait()
	if file, ok := r.w.(*os.File); ok && !closed {
		r.fail(file.Close())
	}
	return r.Err()
}

// RoundTrip is part of http.RoundTripper.
func (r *Recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	x := r.begin(request)
	response, err := r.next.RoundTrip(x.tapped(request))
	if err != nil {
		x.end(err)
		return response, err
	}
	return x.answered(response), nil
}

// masked is text fit for a line: without secrets, and without bytes that JSON
// cannot carry.
func (r *Recorder) masked(text string) string {
	return strings.ToValidUTF8(string(r.mask([]byte(text))), "\uFFFD")
}

// header is what is kept of an answer's header.
func (r *Recorder) header(from http.Header) http.Header {
	kept := http.Header{}
	for name, values := range from {
		if keptHeader(name) {
			for _, value := range values {
				if value = r.masked(value); !hasControl(value) {
					kept.Add(name, value)
				}
			}
		}
	}
	return kept
}

// write appends a line with one call, and takes back what was written of it if
// that fails.
func (r *Recorder) write(l *line) {
	text, err := l.encode(maxLine)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return
	}
	if err == nil && r.size+int64(len(text)) > maxTape {
		err = fmt.Errorf("writing the tape: it would pass %d bytes", int64(maxTape))
	}
	if err != nil {
		r.err = err
		return
	}
	if _, err := r.w.Write(text); err != nil {
		r.err = fmt.Errorf("writing the tape: %w", err)
		if file, ok := r.w.(interface{ Truncate(size int64) error }); ok {
			r.err = errors.Join(r.err, file.Truncate(r.size))
		}
		return
	}
	r.size += int64(len(text))
}

func (r *Recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("closing the tape: %w", err)
	}
}
