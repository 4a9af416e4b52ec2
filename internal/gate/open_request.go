package gate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// newOpenedTransport speaks to the upstreams of opened hosts: over connections
// that the dialer has vetted, and with TLS that is verified as ever.
func newOpenedTransport(d *dialer, roots *x509.CertPool) *http.Transport {
	t := newTransport(d)
	t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}
	t.TLSHandshakeTimeout = d.limits.DialTimeout
	t.ForceAttemptHTTP2 = true
	return t
}

// serveOpened serves one request of an opened connection.
func (x *exchange) serveOpened(o *opened) {
	t := o.target
	x.event.aimed(t)
	x.event.Path = clip(x.r.URL.Path, 512)
	framed := o.frames.take(x.r)
	if reason := x.openedShape(framed, t); reason != "" {
		o.frames.abandon() // what follows may be anything
		x.w.Header().Set("Connection", "close")
		x.malformed(reason)
		return
	}
	d := x.proxy.policy.decide(t)
	x.event.decided(d)
	if !d.Allowed {
		x.deny(t, d)
		return
	}
	if refused := x.openedRefusal(framed); refused != nil {
		x.refuse(t, refused)
		return
	}
	chosen := x.proxy.credentials.choose(t, x.r.Method, x.r.URL.EscapedPath())
	switch {
	case chosen.refused != nil:
		x.refuse(t, chosen.refused)
	case chosen.binding == nil:
		x.passOpened(t, nil)
	default:
		x.passBound(t, chosen.binding)
	}
}

// openedShape says what is wrong with the shape of a request; empty if nothing.
func (x *exchange) openedShape(framed framedHead, t target) string {
	switch {
	case framed.err != nil:
		return framed.err.Error()
	case x.r.Method == http.MethodConnect || x.r.URL.Host != "" || !strings.HasPrefix(x.r.RequestURI, "/"):
		return "a request in a tunnel names a path"
	case !framed.head.hasHost || !names(framed.head.host, t, defaultOpenPort):
		return "the Host header differs from the tunnel's host"
	}
	return ""
}

// openedRefusal says which well-formed requests never pass to an opened host.
func (x *exchange) openedRefusal(framed framedHead) *refusal {
	r := x.r
	if x.proxy.misuses(framed.raw) {
		return phantomMisused()
	}
	if isNeverPassed(r.Method) {
		return &refusal{code: CodeMethodRefused, reason: clip(r.Method, 32) + " makes a server send the request back"}
	}
	if r.Header["Upgrade"] != nil || httpguts.HeaderValuesContainsToken(r.Header["Connection"], "upgrade") {
		return &refusal{code: CodeUpgradeRefused, reason: "Upgrade (WebSocket) is not passed on to a host with a credential"}
	}
	if name := credentialInQuery(r.URL.RawQuery); name != "" {
		return &refusal{code: CodeCredentialInQuery, reason: fmt.Sprintf("the query holds %q", clip(name, 32)), fix: "leave it out: the gate puts the credential in"}
	}
	return nil
}

// passBound passes a request on with the secret of b. Without the secret it is
// not passed on at all.
func (x *exchange) passBound(t target, b *binding) {
	if b.source == nil {
		x.event.failed(fmt.Sprintf("%s, within the limits of %q", x.event.Reason, b.name))
		x.passOpened(t, nil)
		return
	}
	x.event.Credential = b.name
	in, err := b.prepare(x.r.Context(), x.proxy.limits.SourceTimeout)
	if err != nil {
		x.event.Code = CodeCredentialUnavailable
		x.event.failed(fmt.Sprintf("the credential %s: %s", b.name, oneLine(err)))
		x.answer(http.StatusBadGateway, fmt.Sprintf("%s: the credential %q is not available; the user can see why in the record of this run", t, b.name))
		return
	}
	x.passOpened(t, &in)
}

// passOpened passes a request on, with the secret or without.
func (x *exchange) passOpened(t target, in *injection) {
	x.pass(&httputil.ReverseProxy{
		Transport:      x.proxy.openedTransport,
		Rewrite:        func(p *httputil.ProxyRequest) { aimOpened(p, t, x.proxy.credentials.headers(t), in) },
		ModifyResponse: func(resp *http.Response) error { return x.screen(resp, in) },
		ErrorHandler:   func(_ http.ResponseWriter, _ *http.Request, err error) { x.openedFailed(t, err) },
	})
}

// aimOpened points the request at t over TLS and changes who it speaks for.
func aimOpened(p *httputil.ProxyRequest, t target, carriers []string, in *injection) {
	aim(p, t)
	p.Out.URL.Scheme = "https"
	p.Out.Host = openedHost(t)
	p.Out.Trailer = nil
	stripOwn(p.Out.Header, carriers)
	if in == nil {
		return
	}
	p.Out.Header.Set(in.header, in.value)
	// The guard must see the whole response in the clear. A range could fetch a
	// secret that is sent back in two halves.
	p.Out.Header.Set("Accept-Encoding", "identity")
	p.Out.Header.Del("Range")
	p.Out.Header.Del("If-Range")
}

func openedHost(t target) string {
	u := url.URL{Host: t.String()}
	if t.port == defaultOpenPort {
		return u.Hostname()
	}
	return u.Host
}

var errEncoded = errors.New("the response is encoded though that was not asked for")

// screen looks at a response before it passes: it must not hold the secret, nor
// what stands for it.
func (x *exchange) screen(resp *http.Response, in *injection) error {
	_ = unmask(resp)
	resp.Header.Del("Alt-Svc") // another way to the host, past the gate
	if in == nil {
		return nil
	}
	// A session is a credential too.
	resp.Header.Del("Set-Cookie")
	resp.Header.Del("Set-Cookie2")
	if in.guard.SeenInHeader(resp.Header) {
		return errEchoed
	}
	if encoding := resp.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") && hasBody(resp) {
		return errEncoded
	}
	return watchEcho(in.guard, resp, func() { x.event.Code = CodeCredentialEchoed })
}

func hasBody(resp *http.Response) bool {
	return resp.ContentLength != 0 && resp.Request.Method != http.MethodHead && resp.StatusCode != http.StatusNotModified
}

func (x *exchange) openedFailed(t target, err error) {
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errEchoed):
		x.event.Code = CodeCredentialEchoed
		x.rejectUpstream(t, errEchoed.Error())
	case errors.Is(err, errEncoded):
		x.event.Code = CodeResponseEncoded
		x.rejectUpstream(t, errEncoded.Error())
	case errors.As(err, &untrusted):
		x.event.failed(oneLine(err))
		x.answer(http.StatusBadGateway, fmt.Sprintf("%s: the upstream's certificate is not valid", t))
	default:
		x.forwardFailed(t, err)
	}
}

// rejectUpstream answers in the place of a response that must not pass.
func (x *exchange) rejectUpstream(t target, reason string) {
	x.event.failed(reason)
	x.answer(http.StatusBadGateway, fmt.Sprintf("%s: %s", t, reason))
}

// finalWriter keeps informational responses from the client: their headers are
// not screened.
type finalWriter struct{ http.ResponseWriter }

// Unwrap lets http.ResponseController flush.
func (w *finalWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader is part of http.ResponseWriter.
func (w *finalWriter) WriteHeader(status int) {
	if status >= http.StatusOK {
		w.ResponseWriter.WriteHeader(status)
	}
}

// misuses tells whether the head of a request holds a phantom.
func (p *Proxy) misuses(head []byte) bool { return p.phantoms.SeenIn(head) }

func phantomMisused() *refusal {
	return &refusal{code: CodePhantomMisused, reason: "the request holds a placeholder that is meant for another host"}
}
