package gate

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// deniedHeader marks an answer as a refusal by policy; its value is the reason.
const deniedHeader = "X-Ralph-Denied"

// What the policy denies is answered so. A CONNECT gets another status, because
// agents take a 403 from their proxy for a failed login and say so to the user;
// a 502 is to them, and rightly, a host that is not reached.
const (
	deniedStatus        = http.StatusForbidden
	deniedConnectStatus = http.StatusBadGateway
)

// exchange is one request on its way through the proxy.
type exchange struct {
	proxy  *Proxy
	client *clientConn
	w      http.ResponseWriter
	r      *http.Request
	event  Event
	tunnel func()      // what is left to do once net/http has let go of the connection
	next   *clientConn // the tunnel's connection, to be served as plain HTTP
}

// serve finds out what the client wants.
func (x *exchange) serve() {
	client, r := x.client, x.r
	switch {
	case client.over:
		x.reject(http.StatusServiceUnavailable, "too many connections")
	case client.inner != nil:
		x.forwardInner(*client.inner)
	case client.opened != nil:
		x.serveOpened(client.opened)
	case !x.proxy.knows(r):
		x.w.Header().Set("Proxy-Authenticate", `Basic realm="ralph"`)
		x.reject(http.StatusProxyAuthRequired, "the proxy password is missing or wrong")
	case r.Method == http.MethodConnect:
		x.connect()
	case r.URL.Host != "":
		x.forwardAbsolute()
	case r.Method == http.MethodGet && r.RequestURI == "/health":
		x.health()
	case x.proxy.origin != nil && strings.HasPrefix(r.RequestURI, "/"):
		x.serveOrigin()
	default:
		x.reject(http.StatusBadRequest, "this is a proxy: send CONNECT or an absolute URL")
	}
}

// end finishes the exchange, after its tunnel if there is one. A tunnel gets a
// goroutine of its own, so that those of net/http, with their buffers and a deep
// stack, do not wait with it.
func (x *exchange) end() {
	if x.tunnel == nil {
		x.finish()
		return
	}
	go func() {
		defer x.finish()
		defer x.contain()
		x.tunnel()
	}()
}

// contain keeps a fault in one tunnel from ending the process, as net/http does
// for its handlers.
func (x *exchange) contain() {
	if fault := recover(); fault != nil {
		x.client.Close()
		x.event.failed(fmt.Sprintf("a fault of the gate: %v", fault))
	}
}

// finish logs the exchange, and only then begins the one that came out of it.
func (x *exchange) finish() {
	x.event.Duration = time.Since(x.event.Time)
	x.proxy.log(x.event)
	defer x.proxy.open.remove(x.client)
	if x.next != nil {
		x.proxy.serveOne(x.next)
	}
}

// answer ends the exchange with a status of our own and one line of text.
func (x *exchange) answer(status int, text string) {
	x.event.Status = status
	// What is left of the request's body is read to its end, within limits, and
	// a client that does not read the answer is not waited for.
	limit := time.Now().Add(x.proxy.limits.HeaderTimeout)
	control := http.NewResponseController(x.w)
	control.SetReadDeadline(limit)
	control.SetWriteDeadline(limit)
	x.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	x.w.Header().Set("X-Content-Type-Options", "nosniff")
	x.w.WriteHeader(status)
	_, _ = io.WriteString(x.w, "ralph: "+text+"\n")
}

// reject ends the exchange with a refusal that is not the policy's.
func (x *exchange) reject(status int, reason string) {
	x.event.failed(reason)
	x.answer(status, reason)
}

// malformed refuses a request that is not one the proxy serves.
func (x *exchange) malformed(reason string) {
	x.reject(http.StatusBadRequest, "malformed request: "+reason)
}

// deny ends the exchange with a refusal by policy.
func (x *exchange) deny(t target, d Decision) {
	x.event.decided(d)
	x.w.Header().Set(deniedHeader, headerText(d.Reason))
	status := deniedStatus
	if x.r.Method == http.MethodConnect {
		status = deniedConnectStatus
	}
	x.answer(status, denial(t, d))
}

// fail ends the exchange after the dialer's error.
func (x *exchange) fail(t target, err error) {
	var denied *deniedError
	if errors.As(err, &denied) {
		x.deny(t, denied.decision)
		return
	}
	status, text := http.StatusBadGateway, "the upstream failed"
	for _, known := range []error{errLookup, errConnect} {
		if errors.Is(err, known) {
			text = known.Error()
		}
	}
	if isTimeout(err) {
		status, text = http.StatusGatewayTimeout, text+" in time"
	}
	x.event.failed(oneLine(err))
	x.answer(status, fmt.Sprintf("%s: %s", t, text))
}

// oneLine is the error as an event shows it.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", ", ") }

func (x *exchange) health() {
	x.event.Allowed, x.event.Reason = true, "health"
	x.event.Status = http.StatusOK
	_, _ = io.WriteString(x.w, "ok\n")
}

// denial is what the agent, and the user who reads its output, are told.
func denial(t target, d Decision) string {
	text := fmt.Sprintf("%s is not allowed: %s", t, d.Reason)
	if d.Fix != "" {
		text += "; " + d.Fix
	}
	return text
}

// headerText makes text fit for a header's value.
func headerText(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}

// isTimeout tells every kind of time limit that a dial or a copy can hit.
func isTimeout(err error) bool {
	var netErr net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &netErr) && netErr.Timeout()
}

// knows tells whether the client gave the password, if one is set.
func (p *Proxy) knows(r *http.Request) bool {
	if p.password == "" {
		return true
	}
	// The header is that of basic authentication, under another name.
	as := http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
	_, password, ok := as.BasicAuth()
	return ok && subtle.ConstantTimeCompare([]byte(password), []byte(p.password)) == 1
}
