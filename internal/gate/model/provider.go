package model

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/agent-loop/ralph/internal/gate/meter"
)

// Provider is a family of APIs that share their credentials and shapes.
type Provider string

// The providers.
const (
	Anthropic Provider = "anthropic"
	OpenAI    Provider = "openai"
	Google    Provider = "google" // the Gemini API with a key, not that of a cloud project
)

// Prefix is the path below which the gate serves the provider.
func (p Provider) Prefix() string { return "/" + string(p) }

// BaseURL is what an agent inside is told to use, given the address at which the
// gate is reached. For OpenAI it ends with the API's version, as its clients
// expect.
func (p Provider) BaseURL(gateAddress string) string {
	return "http://" + gateAddress + p.Prefix() + shapes()[p].base
}

// route is one thing that agents ask for.
type route struct {
	method string
	path   *regexp.Regexp // below the prefix
	api    meter.API      // how it is metered; empty: it is free
	counts meter.API      // the shape of a free request's body; empty: it has none
	query  []string       // parameters that may be given: a name, or name=value
}

// model is the one that a path names, if it does.
func (r route) model(path string) string {
	if i := r.path.SubexpIndex("model"); i >= 0 {
		return r.path.FindStringSubmatch(path)[i]
	}
	return ""
}

// shape is what differs between providers.
type shape struct {
	provider Provider
	upstream string // the provider's own address
	base     string // what comes between the prefix and the paths in BaseURL
	routes   []route
	refusal  func(refusal) any // the body of an error
}

// A model's name in a path: no dots alone, no slashes, no escapes.
const modelID = `[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}`

// shapes is made when it is first needed: patterns take a millisecond to compile,
// which every start of ralph would pay.
var shapes = sync.OnceValue(func() map[Provider]*shape {
	return map[Provider]*shape{Anthropic: anthropicShape(), OpenAI: openAIShape(), Google: googleShape()}
})

func anthropicShape() *shape {
	return &shape{
		provider: Anthropic,
		upstream: "https://api.anthropic.com",
		routes: []route{
			{http.MethodPost, regexp.MustCompile(`^/v1/messages$`), meter.Anthropic, "", []string{"beta"}},
			{http.MethodPost, regexp.MustCompile(`^/v1/messages/count_tokens$`), "", meter.Anthropic, []string{"beta"}},
			{http.MethodGet, regexp.MustCompile(`^/v1/models(/` + modelID + `)?$`), "", "", []string{"beta", "limit", "before_id", "after_id"}},
		},
		refusal: anthropicRefusal,
	}
}

func openAIShape() *shape {
	return &shape{
		provider: OpenAI,
		upstream: "https://api.openai.com",
		base:     "/v1",
		routes: []route{
			{http.MethodPost, regexp.MustCompile(`^/v1/responses$`), meter.OpenAIResponses, "", nil},
			{http.MethodPost, regexp.MustCompile(`^/v1/chat/completions$`), meter.OpenAIChat, "", nil},
			{http.MethodGet, regexp.MustCompile(`^/v1/models(/` + modelID + `)?$`), "", "", []string{"client_version"}},
		},
		refusal: openAIRefusal,
	}
}

func (s *shape) home() *url.URL {
	u, _ := url.Parse(s.upstream) // a constant
	return u
}

// homeOf tells the provider whose own address a URL has.
func homeOf(u *url.URL) (Provider, bool) {
	for p, s := range shapes() {
		if strings.EqualFold(s.home().Hostname(), strings.TrimSuffix(u.Hostname(), ".")) {
			return p, true
		}
	}
	return "", false
}

// find returns the route of a request, and whether only its method is wrong.
func (s *shape) find(method, path string) (found route, ok, wrongMethod bool) {
	for _, r := range s.routes {
		if r.path.MatchString(path) {
			if r.method == method {
				return r, true, false
			}
			wrongMethod = true
		}
	}
	return route{}, false, wrongMethod
}

// allowsQuery tells whether all parameters of a query are known, once each. One
// that cannot be read here may still mean something to the upstream.
func (r route) allowsQuery(raw string) bool {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return false
	}
	for name, values := range query {
		known := false
		if len(values) != 1 {
			return false
		}
		for _, may := range r.query {
			known = known || may == name || may == name+"="+values[0]
		}
		if !known {
			return false
		}
	}
	return true
}

// regional tells the endpoints of OpenAI that keep data in a region, at a
// surcharge. With Anthropic a field of the request says so.
func (up *Upstream) regional() bool {
	return strings.HasSuffix(strings.ToLower(up.URL.Hostname()), ".api.openai.com")
}

// hostPort is the upstream as events show it.
func (up *Upstream) hostPort() (string, int) {
	port, err := strconv.Atoi(up.URL.Port())
	if err != nil {
		port = map[string]int{"https": 443, "http": 80}[up.URL.Scheme]
	}
	return up.URL.Hostname(), port
}

// reason is what events say of a call that was answered.
func (up *Upstream) reason() string {
	if up.Source == nil {
		return "replayed"
	}
	return "paid"
}
