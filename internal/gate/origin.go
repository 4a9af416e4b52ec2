package gate

import "net/http"

// Origin answers the requests that are meant for the gate itself, by path: the
// model API. It fills in what it decided in event, which is logged when it
// returns; Method, Path, Status, the bytes and the duration are kept for it.
//
// The response writer and the body fail when the client stalls for longer than
// the idle limit. The request's context ends when the client goes away.
type Origin interface {
	ServeOrigin(w http.ResponseWriter, r *http.Request, event *Event)
}

// serveOrigin hands a request without a host in its line to the origin.
func (x *exchange) serveOrigin() {
	x.event.Host, x.event.Path = "", clip(x.r.URL.Path, 512)
	if _, err := checkHead(x.client.head.data); err != nil {
		x.malformed(err.Error())
		return
	}
	body := x.clientBody()
	defer func() { x.event.BytesUp = body.count.Load() }()
	r := x.r.WithContext(x.r.Context())
	r.Body = body
	x.proxy.origin.ServeOrigin(&clientWriter{x: x, ResponseWriter: x.w}, r, &x.event)
}

// clientBody is the request's body, counted and with a limit on stalling.
func (x *exchange) clientBody() *clientBody {
	return &clientBody{ReadCloser: x.r.Body, control: http.NewResponseController(x.w), idle: x.proxy.limits.IdleTimeout}
}
