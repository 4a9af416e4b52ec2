package notify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/agent-loop/ralph/internal/secret"
)

const (
	maxTries     = 4
	tryTime      = 10 * time.Second // one try, so that a silent server leaves time for another
	maxResponse  = 64 << 10         // what is read of an answer, so that the connection can be used again
	maxRedirects = 3
)

type webhook struct {
	address secret.Secret
	client  http.Client
	retry   retry
}

// Webhook is the channel "webhook": it posts the message as JSON, with a line of
// text for a chat. It tries up to four times, with growing pauses, while the
// server cannot be reached, is busy (408, 425, 429) or broken (5xx); a server may
// ask for a pause of its own. All tries bear the same Idempotency-Key. The address
// is a secret: errors name its host alone, and the message never goes to another
// host. Without a client, a plain one is used.
func Webhook(address string, client *http.Client) Channel {
	w := &webhook{address: secret.New(address), retry: newRetry()}
	if client != nil {
		w.client = *client
	}
	w.client.CheckRedirect = stayHome
	return w
}

func (w *webhook) Name() string { return "webhook" }

func (w *webhook) Send(ctx context.Context, m Message) error {
	target, err := parseTarget(w.address)
	if err != nil {
		return err
	}
	body, err := json.Marshal(newPayload(m.clean()))
	if err != nil {
		return fmt.Errorf("encoding the message: %w", err)
	}
	if err := w.retry.do(ctx, func(ctx context.Context) error { return w.post(ctx, target, body) }); err != nil {
		return fmt.Errorf("posting to %s: %w", target.Host, err)
	}
	return nil
}

// parseTarget reads the address. Its errors do not quote it.
func parseTarget(address secret.Secret) (*url.URL, error) {
	target, err := url.Parse(address.Reveal())
	switch {
	case err != nil:
		return nil, errors.New("the webhook's address is not a URL")
	case target.Scheme != "https" && target.Scheme != "http":
		return nil, errors.New("the webhook's address must begin with https:// or http://")
	case target.Hostname() == "":
		return nil, errors.New("the webhook's address names no host")
	}
	return target, nil
}

// post tries once. Its error is a *failure.
func (w *webhook) post(ctx context.Context, target *url.URL, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, w.retry.tryTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target.String(), bytes.NewReader(body))
	if err != nil {
		return &failure{cause: errors.New("the webhook's address is not a URL")}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "ralph")
	request.Header.Set("Idempotency-Key", idempotencyKey(body))
	response, err := w.client.Do(request)
	if err != nil {
		return &failure{cause: discreet(err), again: true}
	}
	defer response.Body.Close()
	// What was answered counts, even if the rest of it does not arrive.
	_, _ = io.CopyN(io.Discard, response.Body, maxResponse)
	return judge(response)
}

// idempotencyKey is the same for the same message, whoever sends it again.
func idempotencyKey(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:16])
}

// stayHome lets a redirection pass that repeats the post at the same host. Others
// come back as the answer: elsewhere, the message is nobody's business, and 301 to
// 303 would turn the post into a GET that loses it.
func stayHome(request *http.Request, via []*http.Request) error {
	from := via[0]
	same := request.URL.Scheme == from.URL.Scheme && request.URL.Host == from.URL.Host
	if !same || request.Method != from.Method || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}
