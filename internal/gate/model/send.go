package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agent-loop/ralph/internal/token"
)

// NewTransport speaks HTTP/1.1 or 2 to upstreams, through the host's own proxy
// if it has one.
func NewTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  proxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 20 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    20 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// proxyFromEnvironment leaves out what the variable holds when it is malformed:
// it may be a password.
func proxyFromEnvironment(r *http.Request) (*url.URL, error) {
	proxy, err := http.ProxyFromEnvironment(r)
	if err != nil {
		return nil, errors.New("the proxy in the environment is malformed")
	}
	return proxy, nil
}

// sendError is a call that got no answer.
type sendError struct {
	sent bool // the upstream may have got it
	code string
	err  error
}

func (e *sendError) Error() string { return e.err.Error() }
func (e *sendError) Unwrap() error { return e.err }

// wasSent tells whether the upstream may have worked, and may charge, for it.
func wasSent(err error) bool {
	var failed *sendError
	return !errors.As(err, &failed) || failed.sent
}

// send asks the upstream, and once more with a newer credential after a 401 or
// what the provider has for that.
func (x *exchange) send(path string, body []byte) (*http.Response, error) {
	credential, err := x.credential()
	if err != nil {
		return nil, err
	}
	resp, err := x.sendAs(path, body, credential)
	if err != nil || x.up.Source == nil || !x.rejects(resp) {
		return resp, err
	}
	newer, ok := x.renewed(credential)
	if !ok {
		return resp, nil // the 401 tells
	}
	resp.Body.Close()
	return x.sendAs(path, body, newer)
}

// rejects tells whether an answer is about the credential. With Google that can
// be a 400, which only its body tells from others; so that is read, and put back.
func (x *exchange) rejects(resp *http.Response) bool {
	if x.up.Provider != Google || resp.StatusCode != http.StatusBadRequest || isEncoded(resp.Header) {
		return resp.StatusCode == http.StatusUnauthorized
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, x.api.config.Limits.ErrorBytes)) // if it fails, the rest does again
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), resp.Body), resp.Body}
	return readGoogleFault(body).badKey()
}

// renewed is a newer credential than one that was refused, if there is one.
func (x *exchange) renewed(old token.Credential) (token.Credential, bool) {
	newer, err := x.up.Source.Rejected(x.r.Context(), old)
	return newer, err == nil && !newer.Secret.Equal(old.Secret.Reveal())
}

func (x *exchange) credential() (token.Credential, error) {
	if x.up.Source == nil {
		return token.Credential{}, nil
	}
	credential, err := x.up.Source.Token(x.r.Context())
	if err == nil && credential.Secret.IsZero() {
		err = errors.New("it is empty")
	}
	if err != nil {
		x.api.signal(Signal{Kind: Unauthorised, Provider: x.up.Provider, Detail: err.Error()})
		return token.Credential{}, &sendError{code: CodeCredential, err: fmt.Errorf("the credential of %s: %w", x.up.Name, err)}
	}
	return credential, nil
}

func (x *exchange) sendAs(path string, body []byte, c token.Credential) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(x.r.Context())
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: func() { sent.Store(true) },
	})
	target := *x.up.URL
	target.Path, target.RawPath = strings.TrimSuffix(target.Path, "/")+path, ""
	target.RawQuery = x.r.URL.Query().Encode() // what was checked, and as it was read
	out := (&http.Request{
		Method:        x.r.Method,
		URL:           &target,
		Host:          target.Host,
		Header:        outgoing(x.r.Header, c),
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		// What is reserved pays for one call. For a POST the transport uses this
		// only when nothing of the first try has reached the upstream.
		GetBody: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
	}).WithContext(ctx)
	x.used = c
	if !c.Secret.IsZero() {
		x.event.Credential = x.up.Name
	}
	watch := newWatch(ctx, x.api.config.Limits.IdleTimeout, cancel)
	resp, err := x.api.config.Transport.RoundTrip(out)
	if err != nil {
		err = plainError(ctx, err)
		watch.stop()
		return nil, &sendError{sent: sent.Load(), code: CodeUpstream, err: err}
	}
	resp.Body = &watchedBody{ReadCloser: resp.Body, watch: watch}
	return resp, nil
}

// plainError leaves out what would describe the host's network to the sandbox.
func plainError(ctx context.Context, err error) error {
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		err = urlErr.Err
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return err
}

var errIdle = errors.New("the upstream sent nothing for too long")

// watch ends a call whose upstream falls silent.
type watch struct {
	ctx    context.Context // of the call
	timer  *time.Timer
	idle   time.Duration
	cancel context.CancelCauseFunc
}

func newWatch(ctx context.Context, idle time.Duration, cancel context.CancelCauseFunc) *watch {
	return &watch{ctx: ctx, timer: time.AfterFunc(idle, func() { cancel(errIdle) }), idle: idle, cancel: cancel}
}

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// watchedBody puts the watch off with everything that comes.
type watchedBody struct {
	io.ReadCloser
	watch *watch
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.watch.timer.Reset(b.watch.idle)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = plainError(b.watch.ctx, err)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	defer b.watch.stop()
	return b.ReadCloser.Close()
}

// refuseSend answers a call that got no answer. Clients may try again: most
// such failures pass.
func (x *exchange) refuseSend(err error) {
	if x.r.Context().Err() != nil {
		x.event.Reason = "the client went away"
		return
	}
	code, message := CodeUpstream, "the model API could not be reached"
	var failed *sendError
	if errors.As(err, &failed) {
		code = failed.code
	}
	status := http.StatusBadGateway
	if code == CodeCredential {
		status, message = http.StatusForbidden, "there is no credential for the model API: see ralph check-token on the host"
	}
	x.refuse(status, code, message)
	x.event.Reason = err.Error() // in full for the user alone
}
