package model

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/agent-loop/ralph/internal/gate"
	"github.com/agent-loop/ralph/internal/gate/budget"
	"github.com/agent-loop/ralph/internal/gate/meter"
	"github.com/agent-loop/ralph/internal/secret"
	"github.com/agent-loop/ralph/internal/token"
)

// Upstream is one provider as the sandbox reaches it, below Provider.Prefix.
type Upstream struct {
	Provider Provider
	URL      *url.URL      // where calls go; the provider's own address if nil
	Phantom  secret.Secret // what the sandbox holds instead of the credential
	Name     string        // names the credential in events
	Source   token.Source  // of the real credential; nil: nothing is put in, for replays
}

// Config is what an API is made of.
type Config struct {
	Upstreams []Upstream
	Ledger    *budget.Ledger // must be set
	Run       string         // names the run in the ledger
	Prices    *meter.Prices  // must be set

	// UnknownAtDearest prices a model that is not in the table at the dearest
	// of the table. Otherwise its calls are refused.
	UnknownAtDearest bool

	// ProviderMayFetch lets calls pass that make the provider ask other hosts:
	// web tools, and content that is given by its URL.
	ProviderMayFetch bool

	// Steer tells the model, at the end of a request, when most of the budget
	// is spent.
	Steer bool

	Transport http.RoundTripper // to the upstreams; NewTransport() if nil
	Signal    func(Signal)      // called for each signal; may be nil
	Limits    Limits
}

// Limits bounds what clients and upstreams can make the API hold. A field that
// is zero takes the default.
type Limits struct {
	BodyBytes   int64         // of one request
	HeldBytes   int64         // of all requests at once; more wait
	ErrorBytes  int64         // of an upstream's error, which is read whole
	BodyTimeout time.Duration // until a request is read whole
	IdleTimeout time.Duration // an upstream sends nothing
}

// API serves the model API. It implements gate.Origin.
type API struct {
	config   Config
	byPrefix map[string]*Upstream
	held     *semaphore.Weighted
	signals  signals
	turns    turns
	guards   secret.Guards // of the credentials
}

// New checks c and makes an API of it.
func New(c Config) (*API, error) {
	c.Limits = c.Limits.withDefaults()
	if c.Ledger == nil || c.Prices == nil {
		return nil, errors.New("the model API needs a ledger and prices")
	}
	if c.Transport == nil {
		c.Transport = NewTransport()
	}
	a := &API{config: c, byPrefix: map[string]*Upstream{}, held: semaphore.NewWeighted(c.Limits.HeldBytes)}
	for _, up := range c.Upstreams {
		if err := a.add(up); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *API) add(up Upstream) error {
	shape, ok := shapes()[up.Provider]
	switch {
	case !ok:
		return fmt.Errorf("no such provider: %q", up.Provider)
	case up.Phantom.IsZero():
		return fmt.Errorf("%s: no phantom", up.Provider)
	case a.byPrefix[up.Provider.Prefix()] != nil:
		return fmt.Errorf("%s: given twice", up.Provider)
	}
	if up.URL == nil {
		up.URL = shape.home()
	}
	if up.URL.Host == "" || up.URL.User != nil || up.URL.Scheme != "https" && up.URL.Scheme != "http" {
		return fmt.Errorf("%s: the upstream %q is not an http URL", up.Provider, up.URL.Redacted())
	}
	if other, is := homeOf(up.URL); is && other != up.Provider {
		return fmt.Errorf("%s: the upstream %q is the address of %s, which would be sent the credential", up.Provider, up.URL.Host, other)
	}
	a.byPrefix[up.Provider.Prefix()] = &up
	return nil
}

func (l Limits) withDefaults() Limits {
	if l.BodyBytes == 0 {
		l.BodyBytes = 32 << 20 // what the providers take
	}
	if l.HeldBytes == 0 {
		l.HeldBytes = 8 * l.BodyBytes
	}
	if l.ErrorBytes == 0 {
		l.ErrorBytes = 256 << 10
	}
	if l.BodyTimeout == 0 {
		l.BodyTimeout = time.Minute // the clients are near
	}
	if l.IdleTimeout == 0 {
		l.IdleTimeout = 10 * time.Minute
	}
	return l
}

// ServeOrigin is part of the gate.Origin interface.
func (a *API) ServeOrigin(w http.ResponseWriter, r *http.Request, event *gate.Event) {
	prefix, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	up := a.byPrefix["/"+prefix]
	if up == nil {
		refuse(w, event, refusal{http.StatusForbidden, CodeWrongPath, "there is nothing at this path of the gate"}, shapes()[Anthropic])
		return
	}
	x := &exchange{api: a, up: up, shape: shapes()[up.Provider], w: w, r: r, event: event}
	event.Rule = "model API " + string(up.Provider)
	event.Host, event.Port = up.hostPort()
	x.serve("/" + rest)
}
