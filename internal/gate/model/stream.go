package model

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/secret"
)

// stream passes a response on as it comes, and shows it to also. The credential
// does not pass: some gateways send back what they were sent.
func (x *exchange) stream(resp *http.Response, also io.Writer) {
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		x.refuse(http.StatusBadGateway, CodeUpstream, "the model API redirects: set agent.upstream to where it is")
		return
	case isEncoded(resp.Header):
		x.refuse(http.StatusBadGateway, gate.CodeResponseEncoded, "the model API's response is encoded though that was not asked for")
		return
	}
	x.observe(resp, nil)
	guard := x.api.guards.For(x.used.Secret)
	body := guard.Reader(resp.Body)
	// Without a body to send, the head does not leave either. So this does not
	// delay it, and while it has not left there can be another answer.
	if body.Begin() != nil {
		x.refuse(http.StatusBadGateway, gate.CodeCredentialEchoed, "the model API's response holds the credential")
		return
	}
	x.passHeader(resp.Header, guard)
	if resp.ContentLength >= 0 {
		x.w.Header().Set("Content-Length", strconv.FormatInt(resp.ContentLength, 10))
	}
	x.w.WriteHeader(resp.StatusCode)
	x.streamed(copyFlushing(x.w, body, also))
}

// streamed ends a response. Ending it as if it were whole when it is not would
// hide that.
func (x *exchange) streamed(err error) {
	switch {
	case err == nil:
		return
	case errors.Is(err, secret.ErrSeen):
		x.event.Code, x.event.Reason = gate.CodeCredentialEchoed, "the response was cut: it holds the credential"
	case x.r.Context().Err() != nil:
		x.event.Reason = "the client went away"
		return
	default:
		x.event.Code, x.event.Reason = CodeUpstream, "the response was cut short: "+err.Error()
	}
	panic(http.ErrAbortHandler)
}

func (x *exchange) passHeader(from http.Header, guard *secret.Guard) {
	if passOn(x.w.Header(), from, guard) {
		x.event.Code = CodeMasked
	}
}

// copyFlushing copies to w at once whatever comes. also sees it first, so that
// it has seen all that the client has.
func copyFlushing(w http.ResponseWriter, from *secret.Reader, also io.Writer) error {
	control := http.NewResponseController(w)
	for {
		came, err := from.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_, _ = also.Write(came)
		if _, err := w.Write(came); err != nil {
			return err
		}
		if err := control.Flush(); err != nil {
			return err
		}
	}
}

// failed passes on an error of the upstream: whole, since it is small and tells
// a signal, and without the credential, which some upstreams quote.
func (x *exchange) failed(resp *http.Response) {
	guard := x.api.guards.For(x.used.Secret)
	body := x.errorBody(resp, guard)
	x.observe(resp, body)
	x.passHeader(resp.Header, guard)
	x.w.WriteHeader(resp.StatusCode)
	_, _ = x.w.Write(body)
}

// errorBody reads what may pass of an error.
func (x *exchange) errorBody(resp *http.Response, guard *secret.Guard) []byte {
	if isEncoded(resp.Header) {
		resp.Header.Del("Content-Encoding")
		x.event.Code = gate.CodeResponseEncoded
		return nil
	}
	most := x.api.config.Limits.ErrorBytes
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		x.event.Reason = "reading the upstream's error: " + err.Error()
	}
	masked := secret.NewMasker(x.used.Secret).Mask(body)
	if !bytes.Equal(masked, body) {
		x.event.Code = CodeMasked
	}
	if err != nil || int64(len(body)) == most { // cut, perhaps amid the credential
		masked = masked[:len(masked)-guard.Unfinished(masked)]
	}
	return masked
}
