package meter

import "net/http"

// Call is what a request asks for, as far as it decides the most that it costs.
type Call struct {
	API    API
	Model  string
	Stream bool

	Input       int64  // most input tokens of one sampling by the body's size
	FillsWindow bool   // it refers to what is not in it: the window is the bound
	Rounds      int64  // how often the model may be sampled
	Compacts    bool   // each sampling may come after one that summarises
	Writes      Writes // which cache writes may be billed

	SaysOutput  bool  // Output is set; otherwise the model's maximum holds
	Output      int64 // most output tokens that were asked for
	Uncapped    bool  // the model's documented maximum need not hold
	ExtraOutput int64 // billed as output beyond that
	Choices     int64 // answers to one request

	WebSearches int64
	Tier        Tier
	Regional    bool // may be served in a region, at a surcharge

	// Reaches is what makes the provider ask other hosts for the agent: a web
	// tool, or content that is given by its URL. Whoever chooses that URL can
	// send data with it. Empty if there is nothing of the kind.
	Reaches string
}

// Writes are the cache writes that a request can cause.
type Writes int

// Each allows those before it too.
const (
	WritesNone Writes = iota
	Writes5m
	Writes1h
)

// UnboundedError refuses a call whose cost has no bound that is known.
type UnboundedError struct {
	Field  string // where in the request
	Reason string
}

func (e *UnboundedError) Error() string {
	return "the cost of this call has no bound: " + e.Field + ": " + e.Reason
}

// ReadCall bounds the request. With an UnboundedError the Call is filled in as
// far as it is known; any other error means that the request is malformed, and
// might mean one thing here and another to the provider.
func ReadCall(api API, header http.Header, body []byte) (Call, error) {
	return ReadCallFor("", api, header, body)
}

// ReadCallFor is ReadCall for a request whose path names the model, as Google's
// do. It is empty where the body does.
func ReadCallFor(model string, api API, header http.Header, body []byte) (Call, error) {
	if err := checkHeader(header); err != nil {
		return Call{}, err
	}
	found, err := survey(body)
	if err != nil {
		return Call{}, err
	}
	w := newWalker(api, model, body)
	w.readHeader(header)
	if err := w.readBody(); err != nil {
		return Call{}, err
	}
	w.conclude(int64(len(body)), found.growth)
	if w.problem != nil {
		return w.call, w.problem
	}
	return w.call, nil
}
