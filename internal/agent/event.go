package agent

import (
	"time"

	"github.com/agent-loop/ralph/internal/money"
)

// EventKind is what an event is about.
type EventKind string

// The kinds.
const (
	Init       EventKind = "init"        // a session began
	Text       EventKind = "text"        // the model's words
	Thinking   EventKind = "thinking"    // its thoughts
	ToolCall   EventKind = "tool-call"   // what it asked to be done
	ToolResult EventKind = "tool-result" // what came of that
	UsageEvent EventKind = "usage"       // tokens, and money if the agent counts it
	RateLimit  EventKind = "rate-limit"  // how the account stands
	Retry      EventKind = "retry"       // a call failed and is tried again
	Result     EventKind = "result"      // the agent says that it is done
	ErrorEvent EventKind = "error"       // the agent says that something failed
	Raw        EventKind = "raw"         // a line of any other kind, as it came
)

// Event is one thing that an agent said. All of it is hostile text: show it with
// Line, never as it is.
type Event struct {
	Kind EventKind `json:"kind"`
	// Size is how many bytes of output the event accounts for, with the end of the
	// line. If a line holds several events, the first has all of them, so that the
	// sizes of all events add up to what was read.
	Size int64 `json:"size,omitzero"`

	Session  string `json:"session,omitzero"`
	Model    string `json:"model,omitzero"`
	Text     string `json:"text,omitzero"`     // words, output, message: by kind
	Delta    bool   `json:"delta,omitzero"`    // the text goes on from the one before
	Subagent bool   `json:"subagent,omitzero"` // said by an agent's agent
	Tool     string `json:"tool,omitzero"`
	ToolID   string `json:"tool_id,omitzero"`
	Input    string `json:"input,omitzero"`  // a tool call's, as JSON or as a command
	Failed   bool   `json:"failed,omitzero"` // the tool did
	Code     string `json:"code,omitzero"`   // the agent's own word for the kind of line or error
	Status   int    `json:"status,omitzero"` // of HTTP, where an error has one

	Usage *Usage     `json:"usage,omitempty"`
	Cost  *money.USD `json:"cost_usd,omitempty"`
	Limit *Limit     `json:"limit,omitempty"`
	Retry *Attempt   `json:"retry,omitempty"`
	End   *End       `json:"end,omitempty"`

	// Raw is the line exactly as it came, without its end: for the kind Raw, and
	// for a line that was not UTF-8. Of a line that was cut it is the head.
	Raw []byte `json:"raw,omitempty"`
	Cut bool   `json:"cut,omitzero"`
}

// Usage counts tokens. Input counts neither what was read from the cache nor what
// was written to it.
type Usage struct {
	Input      int64 `json:"input,omitzero"`
	CacheRead  int64 `json:"cache_read,omitzero"`
	CacheWrite int64 `json:"cache_write,omitzero"`
	Output     int64 `json:"output,omitzero"`
}

// Plus is the sum, of which nothing is negative.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		Input:      plus(u.Input, v.Input),
		CacheRead:  plus(u.CacheRead, v.CacheRead),
		CacheWrite: plus(u.CacheWrite, v.CacheWrite),
		Output:     plus(u.Output, v.Output),
	}
}

// maxTokens bounds a count that an agent reports, so that no sum runs over.
const maxTokens = 1 << 60

func plus(a, b int64) int64 {
	return min(min(max(a, 0), maxTokens)+min(max(b, 0), maxTokens), maxTokens)
}

// Limit is how a subscription stands.
type Limit struct {
	Rejected bool      `json:"rejected,omitzero"`
	Until    time.Time `json:"until,omitzero"`
	Window   string    `json:"window,omitzero"`
}

// Attempt is one more try of a call.
type Attempt struct {
	Number  int   `json:"number"`
	Max     int   `json:"max,omitzero"`
	DelayMS int64 `json:"delay_ms,omitzero"` // before it
}

// End is what an agent says about how it ended. Said, not known: see Outcome.
type End struct {
	Success  bool   `json:"success"`           // by its own word, all conditions together
	Subtype  string `json:"subtype,omitzero"`  // the result's kind
	Terminal string `json:"terminal,omitzero"` // why the session ended
	Stop     string `json:"stop,omitzero"`     // why the model's last answer ended
	IsError  bool   `json:"is_error,omitzero"` // it says that it failed
	Status   int    `json:"status,omitzero"`   // of HTTP, if a call was the reason
	Turns    int    `json:"turns,omitzero"`    // how many it took
	Denials  int    `json:"denials,omitzero"`  // how many tool calls were not permitted
	Fault    string `json:"fault,omitzero"`    // the first of its errors
}
