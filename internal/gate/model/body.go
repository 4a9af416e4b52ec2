package model

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

var (
	errBadBody  = errors.New("reading the request")
	errTooLarge = errors.New("the request is too large")
	errTooSlow  = errors.New("the body took too long to come")
)

// readBody reads the request's body whole. What it holds counts against the
// bytes of all requests until release is called.
func (x *exchange) readBody() (body []byte, release func(), err error) {
	most := x.api.config.Limits.BodyBytes
	if x.r.ContentLength > most {
		return nil, nil, errTooLarge
	}
	if coding := x.r.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return nil, nil, fmt.Errorf("%w: the body is packed (%.20q)", errBadBody, coding)
	}
	if kind, _, err := mime.ParseMediaType(x.r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, nil, fmt.Errorf("%w: the body is not application/json", errBadBody)
	}
	weight := x.r.ContentLength
	if weight < 0 {
		weight = most
	}
	if err := x.api.held.Acquire(x.r.Context(), weight); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errBadBody, err)
	}
	body, err = x.readInTime(most + 1)
	if err == nil && int64(len(body)) > most {
		err = errTooLarge
	}
	if err != nil {
		x.api.held.Release(weight)
		return nil, nil, fmt.Errorf("%w: %w", errBadBody, err)
	}
	kept := int64(len(body)) // a length that was told is never passed
	x.api.held.Release(weight - kept)
	return body, func() { x.api.held.Release(kept) }, nil
}

// readInTime reads the body up to most bytes. The gate ends a body that stalls;
// one that comes a byte at a time could hold its share of the bytes for ever.
func (x *exchange) readInTime(most int64) ([]byte, error) {
	limit := time.Now().Add(x.api.config.Limits.BodyTimeout)
	wake := time.AfterFunc(time.Until(limit), func() {
		_ = http.NewResponseController(x.w).SetReadDeadline(limit)
	})
	body, err := io.ReadAll(&timedReader{Reader: io.LimitReader(x.r.Body, most), limit: limit})
	if !wake.Stop() { // the connection cannot be read any more
		return nil, errTooSlow
	}
	return body, err
}

// timedReader fails when the time is up, however lively the reader is.
type timedReader struct {
	io.Reader
	limit time.Time
}

func (r *timedReader) Read(p []byte) (int, error) {
	if !time.Now().Before(r.limit) {
		return 0, errTooSlow
	}
	return r.Reader.Read(p)
}

func (x *exchange) refuseBody(err error) {
	if errors.Is(err, errTooLarge) {
		x.refuse(http.StatusRequestEntityTooLarge, CodeTooLarge, "the request is larger than a model call may be")
		return
	}
	x.refuse(http.StatusBadRequest, CodeBadRequest, err.Error())
}
