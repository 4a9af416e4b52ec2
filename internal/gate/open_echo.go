package gate

import (
	"errors"
	"io"
	"net/http"

	"github.com/agent-loop/ralph/internal/secret"
)

// errEchoed ends a response that holds the secret of its request.
var errEchoed = errors.New("the response holds the credential")

// shortResponse is how long a response may be to be read at once.
const shortResponse = 64 << 10

// watchEcho puts the guard on the body of a response. A short one is read at
// once, so that the client can be told when it must not pass; a long one is cut.
func watchEcho(guard *secret.Guard, resp *http.Response, noticed func()) error {
	body := &guardedBody{
		Closer:  resp.Body,
		from:    guard.Reader(resp.Body),
		guard:   guard,
		trailer: func() http.Header { return resp.Trailer },
		noticed: noticed,
	}
	resp.Body = body
	if resp.ContentLength < 0 || resp.ContentLength > shortResponse {
		return nil
	}
	short, err := io.ReadAll(body)
	switch {
	case errors.Is(err, errEchoed):
		return err
	case err == nil:
		err = io.EOF
	}
	body.from = &ended{short, err}
	return nil
}

// guardedBody ends a response with errEchoed before the secret has passed, in the
// body or in the trailer.
type guardedBody struct {
	io.Closer
	from    io.Reader
	guard   *secret.Guard
	trailer func() http.Header // complete when the body has ended
	noticed func()             // called when the secret was found
}

// Read is part of io.Reader.
func (b *guardedBody) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if errors.Is(err, secret.ErrSeen) || errors.Is(err, io.EOF) && b.guard.SeenInHeader(b.trailer()) {
		b.noticed()
		return 0, errEchoed
	}
	return n, err
}

// ended is a body that was read, and how it ended.
type ended struct {
	rest []byte
	err  error
}

// Read is part of io.Reader.
func (e *ended) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		return 0, e.err
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}
