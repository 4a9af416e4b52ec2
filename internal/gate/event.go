package gate

import (
	"time"

	"github.com/agent-loop/ralph/internal/money"
)

// Event is what became of one request at the gate: the decision, and when it
// was allowed, what passed, whose credential was used and what it cost. It holds
// no header, no query and no body, but Method, Host, Path and Reason may hold
// text from inside the sandbox, clipped.
type Event struct {
	Time      time.Time     `json:"time"` // when the request came
	Run       string        `json:"run,omitempty"`
	Method    string        `json:"method"`
	Host      string        `json:"host"`
	Port      int           `json:"port"`
	Path      string        `json:"path,omitempty"` // where the gate can see it, without the query
	Allowed   bool          `json:"allowed"`
	Rule      string        `json:"rule,omitempty"`
	Reason    string        `json:"reason,omitempty"` // why it was decided so, or what ended it
	Addr      string        `json:"addr,omitempty"`   // the address that was dialled
	Status    int           `json:"status,omitempty"` // what the client was answered
	BytesUp   int64         `json:"bytes_up"`         // from the sandbox: of the tunnel, or of the body
	BytesDown int64         `json:"bytes_down"`       // to the sandbox
	Duration  time.Duration `json:"duration_ns"`

	Credential string  `json:"credential,omitempty"` // the name of the one that was put in
	Code       string  `json:"code,omitempty"`       // the kind of a refusal, for programs
	Charge     *Charge `json:"charge,omitempty"`     // of a model call that was forwarded
}

// Charge is what a model call cost.
type Charge struct {
	Model      string    `json:"model"`
	Input      int64     `json:"input_tokens"` // without those of the cache
	CacheRead  int64     `json:"cache_read_tokens"`
	CacheWrite int64     `json:"cache_write_tokens"`
	Output     int64     `json:"output_tokens"`
	Cost       money.USD `json:"cost_usd"`
	Uncertain  bool      `json:"uncertain,omitempty"` // the true figure was not seen: Cost is the most it can be
	Reserved   money.USD `json:"reserved_usd"`        // the worst case that was held before
}

// decided notes a decision.
func (e *Event) decided(d Decision) {
	e.Allowed, e.Rule, e.Reason = d.Allowed, d.Rule, d.Reason
}

// aimed notes the destination.
func (e *Event) aimed(t target) {
	e.Host, e.Port = t.host.String(), t.port
}

// failed notes what ended a request that the policy had allowed.
func (e *Event) failed(reason string) { e.Reason = clip(reason, 256) }
