package token

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	json "github.com/go-json-experiment/json"

	"github.com/agent-loop/ralph/internal/secret"
)

// What Claude Code itself sends, and where to.
const (
	claudeTokenURL = "https://platform.claude.com/v1/oauth/token"
	claudeClientID = "9d1c250a-e61b-44d9-88ed-5944d1962f5e"
	claudeScopes   = "user:profile user:inference user:sessions:claude_code user:mcp_servers user:file_upload"
)

const (
	refreshPatience = 30 * time.Second
	maxAnswer       = 64 << 10
	maxLifetime     = 366 * 24 * time.Hour
)

// The ways in which renewing fails. They decide whether the refresh token may
// ever be sent again.
var (
	errUnsent  = errors.New("the provider did not take the request") // it may
	errRefused = errors.New("the provider refused to renew it")
	errUnknown = errors.New("nobody knows whether the provider renewed it")
)

type refreshRequest struct {
	GrantType    string `json:"grant_type"`
	RefreshToken string `json:"refresh_token"`
	ClientID     string `json:"client_id"`
	Scope        string `json:"scope,omitempty"`
}

type refreshAnswer struct {
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token"`
	ExpiresIn    int64  `json:"expires_in"`
	Scope        string `json:"scope"`
}

// refresh spends the refresh token of a record and returns the record with what
// it bought. The error is one of the three above.
func refresh(ctx context.Context, r Record, now func() time.Time) (Record, error) {
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { sent.Store(true) },
	})
	status, body, err := postRefresh(ctx, r)
	switch {
	case err != nil && !sent.Load():
		return Record{}, fmt.Errorf("%w: %w", errUnsent, withoutURL(err))
	case err != nil:
		return Record{}, fmt.Errorf("%w: %w", errUnknown, withoutURL(err))
	case slices.Contains([]int{http.StatusTooManyRequests, http.StatusServiceUnavailable, statusOverloaded}, status):
		return Record{}, fmt.Errorf("%w: it answered %d", errUnsent, status)
	case status >= 400 && status < 500:
		return Record{}, fmt.Errorf("%w: it answered %d", errRefused, status)
	case status != http.StatusOK:
		return Record{}, fmt.Errorf("%w: it answered %d", errUnknown, status)
	}
	renewed, err := r.renewedBy(body, now())
	if err != nil {
		return Record{}, fmt.Errorf("%w: %w", errUnknown, err)
	}
	return renewed, nil
}

// statusOverloaded is what Anthropic answers to a request that it has no time
// to look at.
const statusOverloaded = 529

func postRefresh(ctx context.Context, r Record) (status int, body []byte, err error) {
	scope := strings.Join(r.Scopes, " ")
	payload, err := json.Marshal(refreshRequest{"refresh_token", r.Refresh.Reveal(), r.ClientID, scope})
	if err != nil {
		return 0, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.TokenURL, bytes.NewReader(payload))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	client := newClient()
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	return response.StatusCode, body, err
}

// newClient makes a client for requests with secrets: it follows nobody
// elsewhere, and uses each connection once, so that it never sends anything
// again on another.
func newClient() *http.Client {
	return &http.Client{
		Timeout:       refreshPatience,
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// renewedBy is the record with what the provider answered. An answer without a
// refresh token leaves the old one good.
func (r Record) renewedBy(body []byte, now time.Time) (Record, error) {
	var a refreshAnswer
	if len(body) > maxAnswer || json.Unmarshal(body, &a) != nil {
		return Record{}, errors.New("its answer is not understood")
	}
	r.Secret = secret.New(a.AccessToken)
	if a.RefreshToken != "" {
		r.Refresh = secret.New(a.RefreshToken)
	}
	if a.Scope != "" {
		r.Scopes = strings.Fields(a.Scope)
	}
	r.RefreshedAt, r.RefreshSent, r.ExpiresAt = now, time.Time{}, time.Time{}
	if seconds := a.ExpiresIn; seconds > 0 && seconds <= int64(maxLifetime/time.Second) {
		r.ExpiresAt = now.Add(time.Duration(seconds) * time.Second)
	}
	return r, r.validate()
}
