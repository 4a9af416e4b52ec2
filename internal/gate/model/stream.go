package model

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/agent-loop/ralph/internal/secret"
)

// stream passes a response on as it comes, and shows it to also.
func (x *exchange) stream(resp *http.Response, also io.Writer) {
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		x.refuse(http.StatusBadGateway, CodeUpstream, "the model API redirects: set agent.upstream to where it is")
		return
	}
	x.observe(resp, nil)
	passOn(x.w.Header(), resp.Header)
	if resp.ContentLength >= 0 {
		x.w.Header().Set("Content-Length", strconv.FormatInt(resp.ContentLength, 10))
	}
	x.w.WriteHeader(resp.StatusCode)
	err := copyFlushing(x.w, resp.Body, also)
	switch {
	case err == nil:
	case x.r.Context().Err() != nil:
		x.event.Reason = "the client went away"
	default:
		// Ending the response as if it were whole would hide that it is not.
		x.event.Code, x.event.Reason = CodeUpstream, "the response was cut short: "+err.Error()
		panic(http.ErrAbortHandler)
	}
}

// copyFlushing copies to w at once whatever comes. also sees it first, so that
// it has seen all that the client has.
func copyFlushing(w http.ResponseWriter, from io.Reader, also io.Writer) error {
	control := http.NewResponseController(w)
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			_, _ = also.Write(buffer[:n])
			if _, err := w.Write(buffer[:n]); err != nil {
				return err
			}
			if err := control.Flush(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// failed passes on an error of the upstream: whole, since it is small and tells
// a signal, and without the credential, which some upstreams quote.
func (x *exchange) failed(resp *http.Response) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, x.api.config.Limits.ErrorBytes))
	if err != nil {
		x.event.Reason = "reading the upstream's error: " + err.Error()
	}
	x.observe(resp, body)
	masked := secret.NewMasker(x.used.Secret).Mask(body)
	if !bytes.Equal(masked, body) {
		x.event.Code = CodeMasked
	}
	passOn(x.w.Header(), resp.Header)
	x.w.WriteHeader(resp.StatusCode)
	_, _ = x.w.Write(masked)
}
