package model

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// Kind is what an upstream, or the budget, says about the calls to come.
type Kind string

// The kinds of signals.
const (
	Limited      Kind = "limited"      // no more until a time
	Overloaded   Kind = "overloaded"   // the upstream has too much to do
	Unauthorised Kind = "unauthorised" // the credential is refused or missing
	Unfunded     Kind = "unfunded"     // the account has no money left
	BudgetSpent  Kind = "budget_spent" // ours is
)

// Signal is one such word.
type Signal struct {
	Kind     Kind      `json:"kind"`
	Provider Provider  `json:"provider"`
	At       time.Time `json:"at"`
	Until    time.Time `json:"until,omitzero"` // when it ends, if that is known
	Status   int       `json:"status,omitempty"`
	Detail   string    `json:"detail,omitempty"` // the upstream's type of error, or ours
}

// State is what holds now: the last signal of each kind that no later success
// has taken back, and how much of the upstream's limits is used.
type State struct {
	Signals map[Kind]Signal      `json:"signals"`
	Usage   map[Provider]Windows `json:"usage"`
}

// signals keeps the State.
type signals struct {
	mu    sync.Mutex
	last  map[Kind]Signal
	usage map[Provider]Windows
}

// State returns what holds now.
func (a *API) State() State {
	a.signals.mu.Lock()
	defer a.signals.mu.Unlock()
	state := State{Signals: map[Kind]Signal{}, Usage: map[Provider]Windows{}}
	for kind, signal := range a.signals.last {
		state.Signals[kind] = signal
	}
	for provider, usage := range a.signals.usage {
		state.Usage[provider] = usage
	}
	return state
}

// signal keeps s and tells it.
func (a *API) signal(s Signal) {
	s.At = time.Now()
	s.Detail = clip(s.Detail, 256)
	a.signals.mu.Lock()
	if a.signals.last == nil {
		a.signals.last = map[Kind]Signal{}
	}
	a.signals.last[s.Kind] = s
	a.signals.mu.Unlock()
	if a.config.Signal != nil {
		a.config.Signal(s)
	}
}

// succeeded takes back what a provider had said before. Only our own budget is
// not its to give.
func (a *API) succeeded(p Provider, usage Windows) {
	a.signals.mu.Lock()
	defer a.signals.mu.Unlock()
	for kind, signal := range a.signals.last {
		if signal.Provider == p && kind != BudgetSpent {
			delete(a.signals.last, kind)
		}
	}
	if len(usage) > 0 {
		if a.signals.usage == nil {
			a.signals.usage = map[Provider]Windows{}
		}
		a.signals.usage[p] = usage
	}
}

// observe reads the signals of a response. body is that of an error.
func (x *exchange) observe(resp *http.Response, body []byte) {
	windows := readWindows(resp.Header, time.Now())
	if resp.StatusCode < 300 {
		x.api.succeeded(x.up.Provider, windows)
		return
	}
	kind := errorKind(body)
	s := Signal{Provider: x.up.Provider, Status: resp.StatusCode, Detail: kind}
	var fault googleFault
	if x.up.Provider == Google {
		fault = readGoogleFault(body)
		s.Detail = fault.name()
	}
	switch {
	case fault.badKey():
		s.Kind = Unauthorised
	case kind == "insufficient_quota" || kind == "billing_error" || kind == "billing_hard_limit_reached" || resp.StatusCode == http.StatusPaymentRequired:
		s.Kind = Unfunded
	case resp.StatusCode == http.StatusTooManyRequests:
		s.Kind = Limited
		s.Until = later(limitedUntil(resp.Header, windows, time.Now()), fault.until(time.Now()))
	case resp.StatusCode == 529 || resp.StatusCode == http.StatusServiceUnavailable || kind == "overloaded_error":
		s.Kind = Overloaded
		s.Until = retryAfter(resp.Header, time.Now())
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
		s.Kind = Unauthorised
	default:
		return
	}
	x.api.signal(s)
}

// errorKind is the type of an error that both shapes of API have, and the code
// that OpenAI adds.
func errorKind(body []byte) string {
	var answer struct {
		Error struct {
			Type string `json:"type"`
			Code any    `json:"code"`
		} `json:"error"`
	}
	if len(body) == 0 || json.Unmarshal(body, &answer) != nil {
		return ""
	}
	if code, ok := answer.Error.Code.(string); ok && code != "" {
		return code
	}
	return answer.Error.Type
}

// clip bounds text that is kept, and keeps its characters whole.
func clip(text string, most int) string {
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "")
	}
	return text
}
