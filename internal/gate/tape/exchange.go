package tape

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// exchange is one that is going on. It keeps copies of what it needs: the
// request and the answer are the caller's again when the body is closed.
type exchange struct {
	recorder *Recorder
	line     line
	begun    time.Time
	ctx      context.Context
	sent     *capture
	received *capture // nil until there is an answer
}

func (r *Recorder) begin(request *http.Request) *exchange {
	x := &exchange{
		recorder: r, begun: time.Now(), ctx: request.Context(),
		line: line{Tape: version, Credential: r.Credential, Method: request.Method, Path: r.masked(pathOf(request)), Query: r.masked(request.URL.RawQuery)},
		sent: newCapture(r.limit, request.ContentLength, request.Header),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	x.line.Seq, x.line.Beside = r.seq, slices.Clone(r.running[:min(len(r.running), maxBeside)])
	r.running = append(r.running, r.seq)
	return x
}

// pathOf is the path of a request as it is matched: escaped as it was sent.
func pathOf(request *http.Request) string {
	return "/" + strings.TrimPrefix(request.URL.EscapedPath(), "/")
}

// tapped is the request with a body that is copied as it is sent.
func (x *exchange) tapped(request *http.Request) *http.Request {
	if request.Body == nil || request.Body == http.NoBody {
		x.sent.length = 0
		return request
	}
	if x.sent.length == 0 {
		x.sent.length = -1 // with a body, 0 means that nobody knows
	}
	tapped := *request
	tapped.Body = &requestBody{request.Body, x.sent}
	if fresh := request.GetBody; fresh != nil {
		tapped.GetBody = func() (io.ReadCloser, error) {
			body, err := fresh()
			if err != nil {
				return nil, err
			}
			x.sent.again()
			return &requestBody{body, x.sent}, nil
		}
	}
	return &tapped
}

// answered notes the head of the answer and returns the answer with a body that
// is copied as it is read.
func (x *exchange) answered(response *http.Response) *http.Response {
	r := x.recorder
	x.line.Status, x.line.Header = response.StatusCode, r.header(response.Header)
	x.received = newCapture(r.limit, response.ContentLength, response.Header)
	if x.line.Method == http.MethodHead {
		x.received.length = 0
	}
	if response.StatusCode == http.StatusSwitchingProtocols {
		// The body is a connection in both directions: it must stay what it is.
		x.line.Response = body{Omitted: upgraded}
		x.end(io.EOF)
		return response
	}
	passed := *response
	passed.Body = &responseBody{ReadCloser: response.Body, capture: x.received, ended: x.end}
	return &passed
}

// end notes that the exchange is over and leaves the writing to a goroutine, so
// that nobody waits for a large body to be masked.
func (x *exchange) end(err error) {
	r := x.recorder
	x.line.DurationMS = time.Since(x.begun).Milliseconds()
	x.line.End, x.line.Error = x.outcome(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = slices.DeleteFunc(r.running, func(seq int) bool { return seq == x.line.Seq })
	if r.closed || r.err != nil {
		return
	}
	r.writing.Go(func() {
		x.finish()
		r.write(&x.line)
	})
}

// outcome tells how an exchange ended that stopped with err: io.EOF at the end
// of the answer, nil if the caller closed the body.
func (x *exchange) outcome(err error) (end, reason string) {
	if x.received != nil {
		if _, whole := x.received.size(); whole || errors.Is(err, io.EOF) {
			return complete, ""
		}
	}
	switch {
	case err == nil:
		return client, "closed before the end"
	case x.ctx.Err() != nil:
		return client, x.recorder.masked(err.Error())
	}
	return upstream, x.recorder.masked(err.Error())
}

// finish puts the bodies into the line.
func (x *exchange) finish() {
	mask := x.recorder.mask
	x.line.Request = x.sent.masked(mask)
	if _, whole := x.sent.size(); !whole {
		x.line.Request = body{Omitted: "it was not sent to its end"}
	}
	if x.received != nil && x.line.Response.Omitted == "" {
		x.line.Bytes, _ = x.received.size()
		x.line.Response = x.received.masked(mask)
	}
}
