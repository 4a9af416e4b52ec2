package mini

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/go-json-experiment/json"
)

// Reason is why a run ended, or why a call was made again.
type Reason string

// The reasons.
const (
	Done           Reason = "done"
	MaxTurns       Reason = "max-turns"
	ContextFull    Reason = "context-full"
	BudgetSpent    Reason = "budget-spent"
	Unauthorised   Reason = "unauthorised"
	Unfunded       Reason = "unfunded" // the account has no money left
	Refused        Reason = "refused"  // by the model
	RateLimited    Reason = "rate-limited"
	Overloaded     Reason = "overloaded"
	ProviderError  Reason = "provider-error"
	InvalidRequest Reason = "invalid-request"
	Network        Reason = "network"
	Misconfigured  Reason = "misconfigured"
	Interrupted    Reason = "interrupted"
)

// ExitCode is the exit code that goes with how a run ended.
func (r Result) ExitCode() int {
	switch r.Reason {
	case Done:
		return 0
	case Misconfigured:
		return 2
	case BudgetSpent, MaxTurns, ContextFull:
		return 3
	case Unauthorised, Unfunded, Refused:
		return 4
	case Interrupted:
		return 130
	default:
		return 1
	}
}

// failure is a call that failed, told apart by structure.
type failure struct {
	reason  Reason
	status  int // of HTTP; 0 if that was no error
	message string
	retry   bool          // whether the same call may do better
	wait    time.Duration // what the provider asks for; 0 if it does not say
}

func (f *failure) Error() string { return string(f.reason) + ": " + f.message }

// told is the failure for an event.
func (f *failure) told() failedCall { return failedCall{f.reason, f.status, f.message} }

// classify makes a failure of what a call returned. An error that came from no
// answer at all, or from one that broke off, is the network's.
func classify(ctx context.Context, err error) *failure {
	var api *anthropic.Error
	switch {
	case ctx.Err() != nil:
		return &failure{reason: Interrupted, message: "interrupted"}
	case errors.As(err, &api) && api.Response != nil:
		return classifyAnswer(api.StatusCode, string(api.Type()), api.Response.Header, api.RawJSON())
	case errors.Is(err, errRedirect):
		return &failure{reason: ProviderError, message: err.Error()}
	}
	return &failure{reason: Network, message: limit(clean(err.Error()), maxShown), retry: true}
}

// classifyAnswer reads an error of the gate or the provider. The kind in the body
// counts where the status does not tell: an error in the middle of a stream comes
// with a 200.
func classifyAnswer(status int, kind string, header http.Header, body string) *failure {
	f := &failure{message: errorMessage(status, body), wait: retryAfter(header)}
	if status >= 400 && status < 600 {
		f.status = status
	}
	switch {
	case status == http.StatusForbidden:
		f.reason = forbidden(header.Get("X-Ralph-Code"))
	case status == http.StatusUnauthorized:
		f.reason = Unauthorised
	case status == http.StatusPaymentRequired || kind == "billing_error":
		f.reason = Unfunded
	case status == http.StatusTooManyRequests || kind == "rate_limit_error":
		f.reason, f.retry = RateLimited, true
	case status == 529 || kind == "overloaded_error":
		f.reason, f.retry = Overloaded, true
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusConflict, status < 300:
		f.reason, f.retry = ProviderError, true
	case status == http.StatusRequestEntityTooLarge, strings.Contains(f.message, "prompt is too long"):
		f.reason = ContextFull
	default:
		f.reason = InvalidRequest
	}
	if header.Get("X-Should-Retry") == "false" {
		f.retry = false
	}
	return f
}

// forbidden tells what a 403 is about by the gate's code for it. One without a
// code is the provider's, and about the credential.
func forbidden(code string) Reason {
	switch code {
	case "budget_spent":
		return BudgetSpent
	case "", "wrong_phantom", "no_credential":
		return Unauthorised
	}
	return InvalidRequest
}

// errorMessage is the provider's message, or the beginning of what came instead.
func errorMessage(status int, body string) string {
	var parsed struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	text := body
	if err := json.Unmarshal([]byte(body), &parsed); err == nil && parsed.Error.Message != "" {
		text = parsed.Error.Message
	}
	if strings.TrimSpace(text) == "" {
		text = http.StatusText(status)
	}
	return limit(clean(strconv.Itoa(status)+" "+text), maxShown)
}

// retryAfter reads how long the provider wants to be left alone, in seconds or
// as a date. Nonsense is no wish.
func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(time.Until(date), 0)
	}
	return 0
}
