package mini

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

const (
	// quietTime is how long an answer may stay silent. The provider sends a sign
	// of life far more often.
	quietTime = 5 * time.Minute
	// maxAnswer bounds one answer, in bytes on the wire.
	maxAnswer = 64 << 20

	oauthBeta = "oauth-2025-04-20"
)

var (
	errSilent   = errors.New("the answer stopped coming")
	errTooLarge = errors.New("the answer is too large")
	errRedirect = errors.New("the answer leads elsewhere, where this agent does not go")
)

// newClient makes a client that takes nothing from the environment or from files,
// repeats nothing by itself and follows no redirect with the credential.
func newClient(access Access) anthropic.Client {
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithBaseURL(access.BaseURL),
		option.WithMaxRetries(0),
		option.WithHTTPClient(httpClient()),
		option.WithMiddleware(bounded),
	}
	credential := access.Credential.Reveal()
	switch access.Kind {
	case APIKey:
		options = append(options, option.WithAPIKey(credential))
	case OAuth:
		options = append(options, option.WithAuthToken(credential), option.WithHeaderAdd("anthropic-beta", oauthBeta))
	case Bearer:
		options = append(options, option.WithAuthToken(credential))
	}
	return anthropic.NewClient(options...)
}

func httpClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: quietTime, IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bounded ends an answer that is silent for too long or has no end. One that is
// neither an answer nor an error, which the SDK would take for the former, is
// refused.
func bounded(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	response, err := next(r.WithContext(ctx))
	if err != nil {
		cancel(err)
		return response, err
	}
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		_ = response.Body.Close()
		cancel(errRedirect)
		return nil, errRedirect
	}
	timer := time.AfterFunc(quietTime, func() { cancel(errSilent) })
	response.Body = &boundedBody{ReadCloser: response.Body, ctx: ctx, cancel: cancel, timer: timer, left: maxAnswer}
	return response, nil
}

// boundedBody is the body of an answer with its two bounds.
type boundedBody struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	left   int64
}

// Read is part of io.ReadCloser.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.timer.Reset(quietTime)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	if err != nil && errors.Is(context.Cause(b.ctx), errSilent) {
		return n, errSilent
	}
	return n, err
}

// Close is part of io.ReadCloser.
func (b *boundedBody) Close() error {
	b.timer.Stop()
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}
