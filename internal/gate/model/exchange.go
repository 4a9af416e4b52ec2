package model

import (
	"errors"
	"io"
	"net/http"

	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/gate/meter"
	"github.com/agent-loop/ralph/internal/token"
)

// exchange is one request on its way to an upstream and back.
type exchange struct {
	api   *API
	up    *Upstream
	shape *shape
	w     http.ResponseWriter
	r     *http.Request
	event *gate.Event
	used  token.Credential // what was put in last
}

func (x *exchange) refuse(status int, code, message string) {
	refuse(x.w, x.event, refusal{status, code, message}, x.shape)
}

// serve finds the route of a request and checks the phantom.
func (x *exchange) serve(path string) {
	if x.preconnect(path) {
		return
	}
	found, ok, wrongMethod := x.shape.find(x.r.Method, path)
	switch {
	case wrongMethod && x.r.Header.Get("Upgrade") != "":
		// Clients that would rather have a WebSocket take this as the word to
		// use plain calls, and every other one as a reason to ask again.
		x.refuse(http.StatusUpgradeRequired, CodeWrongMethod, "there are no WebSockets here: send a POST")
	case wrongMethod && !ok:
		x.refuse(http.StatusForbidden, CodeWrongMethod, "this method is not served here")
	case !ok || x.r.URL.RawPath != "":
		x.refuse(http.StatusForbidden, CodeWrongPath, "this path is not served: only model calls are")
	case !found.allowsQuery(x.r.URL.RawQuery):
		x.refuse(http.StatusForbidden, CodeWrongPath, "this query is not served")
	case !holdsPhantom(x.r.Header, x.up.Phantom):
		x.refuse(http.StatusForbidden, CodeWrongPhantom, "the credential is not the one of this run")
	case found.api != "":
		x.paid(found, path)
	default:
		x.free(found, path)
	}
}

// preconnect answers the request without a credential that clients warm up the
// connection with. It goes no further.
func (x *exchange) preconnect(path string) bool {
	if x.r.Method != http.MethodHead || path != "/" {
		return false
	}
	x.event.Allowed, x.event.Reason = true, "preconnect"
	x.w.WriteHeader(http.StatusOK)
	return true
}

// countable reads a request for a count, or refuses it. What it would cost does
// not matter, but what it names does: so it must be understood. Where names have
// two spellings, one that is not known may name anything.
func (x *exchange) countable(found route, path string, body []byte) bool {
	call, err := meter.ReadCallFor(found.model(path), found.counts, x.r.Header, body)
	var unbounded *meter.UnboundedError
	switch {
	case x.reaches(call):
		return false
	case errors.As(err, &unbounded) && found.counts == meter.GoogleCount:
		x.refuse(http.StatusForbidden, CodeUnbounded, err.Error())
		return false
	case err != nil && unbounded == nil:
		x.refuse(http.StatusBadRequest, CodeBadRequest, err.Error())
		return false
	}
	return true
}

// free passes on what costs nothing.
func (x *exchange) free(found route, path string) {
	var body []byte
	if found.counts != "" {
		var release func()
		var err error
		if body, release, err = x.readBody(); err != nil {
			x.refuseBody(err)
			return
		}
		defer release()
		if !x.countable(found, path, body) {
			return
		}
	}
	resp, err := x.send(path, body)
	if err != nil {
		x.refuseSend(err)
		return
	}
	defer resp.Body.Close()
	x.event.Allowed = true
	x.event.Reason = "free"
	if resp.StatusCode >= 400 {
		x.failed(resp)
		return
	}
	x.stream(resp, io.Discard)
}
