package gate

import "time"

// Event is what became of one request at the gate: the decision, and when it
// was allowed, what passed. It holds no header and no body, but Method, Host and
// Reason may hold text from inside the sandbox, clipped.
type Event struct {
	Time      time.Time     `json:"time"` // when the request came
	Method    string        `json:"method"`
	Host      string        `json:"host"`
	Port      int           `json:"port"`
	Allowed   bool          `json:"allowed"`
	Rule      string        `json:"rule,omitempty"`
	Reason    string        `json:"reason,omitempty"` // why it was decided so, or what ended it
	Addr      string        `json:"addr,omitempty"`   // the address that was dialled
	Status    int           `json:"status,omitempty"` // what the client was answered
	BytesUp   int64         `json:"bytes_up"`         // from the sandbox: of the tunnel, or of the body
	BytesDown int64         `json:"bytes_down"`       // to the sandbox
	Duration  time.Duration `json:"duration_ns"`
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
