package agent

import (
	"strings"
	"time"
)

// miniLine is a line of ralph's own agent; the package mini lists them.
type miniLine struct {
	Type  string `json:"type"`
	Model string `json:"model"`
	Text  string `json:"text"`

	ID      string `json:"id"`
	Tool    string `json:"tool"`
	Command string `json:"command"`
	OK      bool   `json:"ok"`
	Output  string `json:"output"`

	Attempt     int   `json:"attempt"`
	MaxAttempts int   `json:"max_attempts"`
	WaitMS      int64 `json:"wait_ms"`

	Reason  string    `json:"reason"`
	Status  int       `json:"status"`
	Message string    `json:"message"`
	Turns   int       `json:"turns"`
	Total   miniUsage `json:"usage"` // of a result
	RetryAt time.Time `json:"retry_at"`

	miniUsage // of one turn
}

type miniUsage struct {
	Input      int64 `json:"input_tokens"`
	CacheRead  int64 `json:"cache_read_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
	Output     int64 `json:"output_tokens"`
}

func (u miniUsage) usage() *Usage {
	usage := Usage(u).Plus(Usage{})
	return &usage
}

// decodeMini reads what mini prints.
func decodeMini() decode {
	return func(line []byte) []Event {
		var l miniLine
		if !looksLikeObject(line) || !unmarshal(line, &l) {
			return nil
		}
		return l.events()
	}
}

func (l *miniLine) events() []Event {
	switch l.Type {
	case "init":
		return []Event{{Kind: Init, Model: l.Model}}
	case "text":
		return []Event{{Kind: Text, Text: l.Text}}
	case "tool_call":
		return []Event{{Kind: ToolCall, Tool: l.Tool, ToolID: l.ID, Input: l.Command}}
	case "tool_result":
		return []Event{{Kind: ToolResult, ToolID: l.ID, Text: l.Output, Failed: !l.OK}}
	case "usage":
		return []Event{{Kind: UsageEvent, Usage: l.usage()}}
	case "retry":
		attempt := Attempt{Number: l.Attempt, Max: l.MaxAttempts, DelayMS: max(l.WaitMS, 0)}
		return []Event{{Kind: Retry, Code: l.Reason, Status: l.Status, Text: l.Message, Retry: &attempt}}
	case "error":
		return []Event{{Kind: ErrorEvent, Code: l.Reason, Status: l.Status, Text: l.Message}}
	case "result":
		return l.result()
	}
	return []Event{{Kind: Raw, Code: l.Type}}
}

// result reads the last line. Its message is not taken for the last words, which
// came before it and whole: it is shortened, and a marker stands at the end.
func (l *miniLine) result() []Event {
	if l.Reason == "" {
		return nil
	}
	end := End{Success: l.OK && l.Reason == "done", Subtype: l.Reason, Status: l.Status, Turns: max(l.Turns, 0)}
	if !end.Success {
		end.IsError, end.Fault = true, l.Message
	}
	result := Event{Kind: Result, Status: l.Status, Usage: l.Total.usage(), End: &end}
	if l.Reason != "rate-limited" || l.RetryAt.IsZero() {
		return []Event{result}
	}
	limit := Limit{Rejected: true, Until: l.RetryAt}
	return []Event{{Kind: RateLimit, Code: l.Reason, Limit: &limit}, result}
}

// judgeMini reads the reason that mini gives for its end, or for its last error
// if it did not come to one.
func judgeMini(s *Summary) Outcome {
	reason, fault := s.Code, s.LastError
	switch {
	case s.End == nil && s.Code == "":
		return unfinished(s)
	case s.End != nil && s.End.Success:
		return judgeByText(s)
	case s.End != nil:
		reason, fault = s.End.Subtype, s.End.Fault
	}
	o := Outcome{Verdict: miniVerdict(reason, s.Status), Reason: first(fault, "it ended with "+reason)}
	if o.Verdict == RateLimited {
		o.Until = s.Until
	}
	return o
}

// miniVerdict is the verdict for a reason other than that all is done. Errors of
// the configuration, the request and the network are failures like any other.
func miniVerdict(reason string, status int) Verdict {
	switch reason {
	case "budget-spent":
		return BudgetSpent
	case "unauthorised":
		return Unauthorised
	case "unfunded":
		return Unfunded
	case "rate-limited":
		return RateLimited
	case "overloaded":
		return Overloaded
	case "max-turns":
		return MaxTurns
	case "context-full":
		return ContextFull
	case "refused":
		return Refused
	case "interrupted":
		return Killed
	case "provider-error":
		if status >= 500 && status < 600 {
			return Overloaded
		}
	}
	return Failed
}

// decodeCommand takes a command's output for its words.
func decodeCommand() decode {
	return func(line []byte) []Event {
		return []Event{{Kind: Text, Text: strings.ToValidUTF8(string(line), "\uFFFD") + "\n", Delta: true}}
	}
}
